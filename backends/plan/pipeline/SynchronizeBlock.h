// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers and waits of a role that copies for itself, beside those of its loops' pipelines (AsyncCopyPipeline.h).
#pragma once

#include "backends/plan/resources/ShareMemory.h"

namespace tkc::planner {

/// Orders everything else of a role that copies for itself: operands that are loaded once a tile, staged operands.
void synchronizeBlock(plan::Role &role, const Placement &placement, const MemoryOf &memory);

} // namespace tkc::planner
