// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops whose rings are filled by the threads that compute, on machines without asynchronous copies: a tile is on its
// way in registers while the products of the one before run.
//
//   fetch 0; place 0
//   for k {
//     barrier                              k has been placed by all, and nobody reads k - 1 any more
//     if there is a tile k + 1: fetch it
//     products of k
//     (barrier, where a ring has one stage)
//     if there is a tile k + 1: place it
//   }
#pragma once

#include "backends/plan/roles/RoleBuilder.h"

#include <functional>
#include <vector>

namespace tkc::planner {

/// What of a copy is emitted where.
enum class CopyPart : uint8_t { Whole, Fetch, Place };

/// Emits a part of one fill of a stage of the ring: of the tile that is `count` after the loop's, or, at the loop's
/// start, number `count`.
using FillPart = std::function<void(const RingPlacement &ring, CopyPart part, int count, bool inLoop)>;

/// Emits what comes before the loop, and rewrites the body of `loop`, which was lowered without any synchronisation.
/// `rings`: those whose loads stand in this loop's body.
void pipelineThroughRegisters(RoleBuilder &builder, plan::Stmt &loop, const std::vector<const RingPlacement *> &rings,
                              const FillPart &fill);

} // namespace tkc::planner
