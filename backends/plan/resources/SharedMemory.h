// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared memory: how many stages every ring gets, and where every buffer lies.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// Deepens the rings inside loops as far as shared memory and `stages` (else `defaultStages`) allow; rings of the tile
/// level keep one stage, or have two where there is room and a block learns early which tile comes next
/// (`learnsNextTile`). Ring stages and buffer stages agree afterwards. `takesTilesInTurn`: a block goes on to other
/// tiles, whose loads come while it stores.
void fillRings(Placement &placement, const arch::Description &arch, const Schedule &schedule, bool takesTilesInTurn,
               bool learnsNextTile);

/// Whether a further buffer of so many bytes fits beside those that are placed, rings at one stage.
bool hasRoom(const Placement &placement, const arch::Description &arch, int64_t bytes);

/// Gives every buffer of the plan its offset, 1024-byte aligned as the 128-byte swizzle wants, and sums up. `packs`:
/// those without a swizzle come last, close together.
void allocate(plan::Plan &plan, bool isPlacedByCompiler, bool packs);

} // namespace tkc::planner
