// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much shared memory what is placed takes, and whether more fits beside it.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// What aligning dynamic shared memory to 1024 bytes costs.
constexpr int64_t slack = 1024;
/// Barriers, and the slack that aligning dynamic shared memory to 1024 bytes costs.
constexpr int64_t reserved = 2048;
/// Of each buffer where buffers are packed: it suits the copy engine.
constexpr int64_t packedAlignment = 128;

/// The next multiple of `alignment`.
int64_t aligned(int64_t bytes, int64_t alignment);

/// Of one stage of all buffers of a ring.
int64_t stageBytes(Placement &placement, const RingPlacement &ring);

/// Whether the block stages all of the tile at once, in memory of a ring that is done, and threads copy it out.
bool isWhole(const Placement &placement, const StorePlacement &store);
/// Whether such a store goes through the buffer.
bool isWholeStore(const Placement &placement, const std::string &buffer);

/// Of all buffers as they stand, with what lies beside them.
int64_t usedBytes(const Placement &placement);

/// Whether a further buffer of so many bytes fits beside those that are placed, rings at one stage.
bool hasRoom(const Placement &placement, const arch::Description &arch, int64_t bytes);

} // namespace tkc::planner
