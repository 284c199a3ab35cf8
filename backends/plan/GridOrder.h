// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In which order blocks take tiles. Blocks that run together should read the same memory: axes on which the loads
// inside loops do not depend go last, where they vary fastest (attention: the query tiles of one head run together).
// Where the length of a tile's loops grows along an axis, that axis is walked from its end: the longest blocks start
// first.
#pragma once

#include "backends/plan/Placement.h"

namespace tkc::planner {

/// Reorders `grid.axes`, which stand in the order of the nest, and sets `grid.reversed`. Ragged grids keep theirs.
/// Whether the tiles of the axis that varies fastest, one of several, have loops of different lengths. With
/// `triesLengths` examples decide where formulas do not, as they do not for sliding windows.
bool orderGrid(const Nest &nest, Placement &placement, plan::Grid &grid, bool triesLengths);

} // namespace tkc::planner
