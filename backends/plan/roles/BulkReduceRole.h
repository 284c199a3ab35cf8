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

/// Whether a role of its own adds what loops add, by default or as the key `adder` says. Tensors that may not suit the
/// copy engine take the threads' registers, and the loading warpgroup all its warps: then there is none. `isAlone`: the
/// block computes a tile by itself, with all its warpgroups. `freeWarps`: as above. `why`: what stands against the key.
bool chooseBulkReduce(const Schedule &schedule, bool isAlone, int freeWarps, Placement &placement, std::string &why);

/// The role, which walks the loops around the marked additions, and its barriers.
plan::Role lowerBulkReduceRole(const Nest &nest, const Placement &placement, const SharedNames &shared,
                               std::vector<plan::Barrier> &barriers);

} // namespace tkc::planner
