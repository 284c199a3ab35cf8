// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The full and the empty barrier of each ring that a loading role fills: who arrives there, and how often.
#pragma once

#include "backends/plan/placement/Placement.h"

#include <map>
#include <set>
#include <string>

namespace tkc::planner {

/// Of `loadingWarps`. `toldLate`: full barriers of rings whose threads arrive for copies of theirs later.
/// `emptyArrivals`: where a role of its own issues products, how many arrive at each empty barrier.
void addRingBarriers(const Placement &placement, int loadingWarps, const std::set<std::string> &toldLate,
                     const std::map<std::string, int> *emptyArrivals, plan::Plan &plan);

} // namespace tkc::planner
