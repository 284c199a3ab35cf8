// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which the blocks of a grid take its tiles.
#pragma once

#include "tk/config.h"

namespace tk {

/// Tile number `tile` of a rows × cols grid in raster groups of `group` rows, walked down first: blocks that run together
/// share operands in L2.
struct grid_position {
  int row, col;
};
__host__ __device__ constexpr grid_position raster(int tile, int rows, int cols, int group) {
  const int per_group = group * cols;
  const int first = tile / per_group * group;
  const int height = rows - first < group ? rows - first : group;
  const int within = tile % per_group;
  return {first + within % height, within / height};
}

/// The number of the tile at a position: what raster takes.
__host__ __device__ constexpr int raster_number(grid_position at, int rows, int cols, int group) {
  const int first = at.row / group * group;
  const int height = rows - first < group ? rows - first : group;
  return first * cols + at.col * height + at.row - first;
}

} // namespace tk
