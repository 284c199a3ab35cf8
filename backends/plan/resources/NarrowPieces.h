// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results that are staged whole leave in pieces where that leaves room for more stages of operands.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// A result whose rows are no whole number of pieces of 128 bytes is staged whole (PlaceBulkStores.h). Here it gets
/// pieces of some of its panels, in turns through two stages, if the rings of loops then have more stages, of `wanted`
/// at most, in `budget` bytes. It gets the widest pieces that leave so many stages, as each costs barriers.
void narrowPieces(Placement &placement, int64_t budget, int wanted);

} // namespace tkc::planner
