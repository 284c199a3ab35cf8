// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops whose rings are filled by the threads that compute, right before a tile's first use, with the key
// `late_copies`. Nothing runs ahead, and from the last use of a tile to its next copy its memory is free for others
// (ShareMemory.h):
//
//   for k {
//     barrier; copy k; wait; barrier
//     product of k
//   }
#pragma once

#include "backends/plan/roles/RoleBuilder.h"

#include <functional>
#include <vector>

namespace tkc::planner {

/// Rewrites the body of `loop`, which was lowered without any synchronisation. `rings`: those whose loads stand in it,
/// of one stage each. `copy` emits the copies of a ring, `wait` what waits until they have come.
void copyBeforeUse(RoleBuilder &builder, plan::Stmt &loop, const std::vector<const RingPlacement *> &rings,
                   const std::function<void(const RingPlacement &)> &copy, const std::function<void()> &wait);

} // namespace tkc::planner
