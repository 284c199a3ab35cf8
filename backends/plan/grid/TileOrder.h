// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In which order blocks take tiles. Blocks that run together should read the same memory: axes on which the loads
// inside loops do not depend go last, where they vary fastest (attention: the query tiles of one head run together).
// Where the length of a tile's loops grows along an axis, that axis is walked from its end: the longest blocks start
// first.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// How the lengths of tiles' loops change along the axis that varies fastest, one of several.
struct TileLengths {
  bool equal = false; ///< along all axes
  bool differ = false;
  bool change = false; ///< from each tile to the next; not where only examples show it: a window's first are shorter
  bool endInOneStep = false; ///< the last of several loops, by examples: that at a diagonal
  bool pairUp = false;       ///< tile i and tile n - 1 - i of the axis are together as long for every i, by examples
};

/// Reorders `grid.axes`, which stand in the order of the nest, and sets `grid.reversed`. Ragged grids keep theirs.
/// Examples are tried with `triesLengths` only.
TileLengths orderTiles(const Nest &nest, Placement &placement, plan::Grid &grid, bool triesLengths);

} // namespace tkc::planner
