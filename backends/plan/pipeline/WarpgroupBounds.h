// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops whose ranges are where masks change, for each instance of a role that has rows of its own: with
// begin(i) … end(i) of the block's tile, the instance's rows of it stand in the bounds, so that it masks fewer tiles,
// and leaves out those that its rows do not see. What the rings hold of those it hands back unread:
//   for j in tiles(a, s(i)) { … }  for k in tiles(s(i), e(i)) { … }
//   ⇒  for j in tiles(a, s(own i)) { … }  for k in tiles(s(own i), e(own i)) { … }
//      for x in tiles(e(own i), e(i)) { wait full; sync; arrive empty; advance }
#pragma once

#include "backends/plan/placement/Placement.h"

#include <set>

namespace tkc::planner {

/// Rewrites the body of a computing `role` with all its waits; `byMasks` has the variables of the loops in question.
/// Returns why there is nothing to rewrite, or nothing.
std::string boundByWarpgroup(plan::Role &role, Placement &placement, const plan::Grid &grid,
                             const std::set<std::string> &byMasks);

} // namespace tkc::planner
