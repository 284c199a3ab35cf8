// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops whose rings are filled by the threads that compute, on machines with asynchronous copies and without barriers
// that count their bytes: one role, whose copies run some iterations ahead of its products.
//
//   copy 0; commit; copy 1; commit
//   for k {
//     wait until 1 group is under way; barrier      k has come for all, and nobody reads k - 1 any more
//     if there is a tile k + 2: copy it where k - 1 was
//     commit                                        an empty group counts like a full one
//     product of k
//   }
//
// A barrier before a ring's first use frees the stage of every ring whose last use lies before it, so each ring is
// filled right after the first barrier that follows its last use. With one stage for k and one for v attention becomes:
// barrier, fill v; s = q · k; barrier, fill the next k; softmax; acc += p · v.
#pragma once

#include "backends/plan/roles/RoleBuilder.h"

#include <functional>
#include <optional>
#include <vector>

namespace tkc::planner {

/// Whether `stmt`, or what it holds, multiplies out of one of the ring's buffers, or has threads read it.
bool readsOutOf(const plan::Stmt &stmt, const RingPlacement &ring);

/// Emits one fill of a stage of the ring: the copies of the tile that is `count` after the loop's, or, at the loop's
/// start, number `count`.
using Fill = std::function<void(const RingPlacement &ring, int count, bool inLoop)>;

/// Where copies are loads straight to shared memory, which a wait counts one by one.
struct DirectLoads {
  /// That each thread issues to fill a stage of the ring.
  std::function<int(const RingPlacement &ring)> of;
  /// Emits, in the loop's body, a wait until at most `count` loads are under way, if there is the tile `ahead` after
  /// the loop's, whose loads are the newest; else for all.
  std::function<void(int count, int ahead)> wait;
  int threads = 0; ///< of the block
  int turns = 0;   ///< the halves of the role alternate, with so many turns an iteration; 0: they do not
};

/// Emits what comes before the loop, and rewrites the body of `loop`, which was lowered without any synchronisation.
/// `rings`: those whose loads stand in this loop's body.
void pipelineCopies(RoleBuilder &builder, plan::Stmt &loop, const std::vector<const RingPlacement *> &rings,
                    const Fill &fill, const std::optional<DirectLoads> &direct = {});

} // namespace tkc::planner
