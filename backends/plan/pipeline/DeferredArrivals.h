// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rings into which loading warps copy rows by index, or block scales, asynchronously: they go on to the next stages,
// and arrive for one when its copies have come. Else each stage would take as long as memory does.
#pragma once

#include "backends/plan/placement/Placement.h"

#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

/// The roles that wait for what the rings bring, with their waits.
using Readers = std::vector<const plan::Role *>;

/// Has `producer` fill such rings as many stages ahead as they, and the order in which `readers` ask, allow. Returns
/// their `full` barriers: at these one thread of it arrives with the copy engine's bytes, and each of its warps for
/// what the threads copied.
std::set<std::string> deferArrivals(plan::Role &producer, const Readers &readers, const Placement &placement);

} // namespace tkc::planner
