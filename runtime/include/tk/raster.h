// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which the blocks of a grid take its tiles.
#pragma once

#include "tk/divisor.h"

namespace tk {

/// Tile number `tile` of a rows × cols grid in raster groups of `group` rows, walked down first: blocks that run
/// together share operands in L2.
struct grid_position {
  int row, col;
};
__host__ __device__ constexpr grid_position raster(int tile, int rows, int cols, int group) {
  // Nothing is negative, and dividing without a sign is shorter. Only the last group may have another height than
  // `group`, which is a constant of most callers.
  const unsigned per_group = unsigned(group) * unsigned(cols);
  const unsigned before = unsigned(tile) / per_group;
  const unsigned within = unsigned(tile) - before * per_group;
  const int first = int(before) * group, left = rows - first;
  if (left >= group)
    return {first + int(within % unsigned(group)), int(within / unsigned(group))};
  return {first + int(within % unsigned(left)), int(within / unsigned(left))};
}

/// The same for a grid that the launcher knows, with what it is divided by.
template <int Group> struct raster_grid {
  int rows;
  divisor group; ///< tiles of a whole group of rows
  divisor last;  ///< rows of the last group

  raster_grid() = default;
  constexpr raster_grid(long long height, long long width)
      : rows(int(height)), group(Group * width), last(height % Group == 0 ? Group : height % Group) {}
};
template <int Group> __host__ __device__ constexpr grid_position raster(int tile, const raster_grid<Group> &grid) {
  const int before = grid.group.quotient(tile);
  const int within = tile - before * grid.group.value, first = before * Group;
  if (grid.rows - first >= Group)
    return {first + within % Group, within / Group};
  const int col = grid.last.quotient(within);
  return {first + within - col * grid.last.value, col};
}

/// The number of the tile at a position: what raster takes.
__host__ __device__ constexpr int raster_number(grid_position at, int rows, int cols, int group) {
  const int first = at.row / group * group;
  const int height = rows - first < group ? rows - first : group;
  return first * cols + at.col * height + at.row - first;
}

} // namespace tk
