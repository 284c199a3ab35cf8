// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What loops add to tensors (`dq[i, :] += …`), handed to the copy engine by a role of its own: one thread for each
// computing warpgroup, beside the loading one. The warpgroup stages its share and goes on; no barrier of its warps
// waits for a thread of theirs to start the copy, nor for one to know that the last has left.
#pragma once

#include "backends/plan/roles/RoleBuilder.h"

namespace tkc::planner {

/// Marks the additions in loops for which there can be such a role. `freeWarps`: of the loading warpgroup, beside those
/// that it has tasks for. Returns whether there are any.
bool addApart(Placement &placement, int freeWarps);

/// The role, which walks the loops around the marked additions, and its barriers.
plan::Role lowerAdder(const Nest &nest, const Placement &placement, const SharedNames &shared,
                      std::vector<plan::Barrier> &barriers);

} // namespace tkc::planner
