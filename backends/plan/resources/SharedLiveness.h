// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which buffers of shared memory a role has in use at the same time. A buffer is in use from where it is filled to
// where it is read for the last time before it is filled again.
#pragma once

#include "ir/plan/PlanIR.h"

#include <map>
#include <set>
#include <string>

namespace tkc::planner {

/// For each buffer those that hold something which is yet to be read when it is filled, and the other way round.
using Interference = std::map<std::string, std::set<std::string>>;

/// Of a role without synchronisation, or with it. `buffers`: the only ones that are looked at.
Interference findInterference(const plan::Role &role, const std::set<std::string> &buffers);

} // namespace tkc::planner
