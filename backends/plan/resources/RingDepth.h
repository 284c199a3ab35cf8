// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many stages every ring gets, and which buffers give way or get a second stage.
#pragma once

#include "backends/plan/placement/Placement.h"

#include <string>
#include <vector>

namespace tkc::planner {

/// Deepens the rings inside loops as far as shared memory and `stages` (else `defaultStages`) allow; rings of the tile
/// level keep one stage, or have two where there is room and a block learns early which tile comes next
/// (`learnsNextTile`). Ring stages and buffer stages agree afterwards. `takesTilesInTurn`: a block goes on to other
/// tiles, whose loads come while it stores.
void fillRings(Placement &placement, const arch::Description &arch, const Schedule &schedule, bool takesTilesInTurn,
               bool learnsNextTile);

/// The buffers that warpgroups stage operands of their products in once an iteration, which a second stage suits.
std::vector<std::string> buffersStagedInLoops(const Placement &placement);

} // namespace tkc::planner
