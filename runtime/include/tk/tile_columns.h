// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many columns tiles have where the launcher chooses.
#pragma once

#include "tk/tiles.h"

namespace tk {

/// Columns of every tile but the last, which may have fewer, and how many tiles there are.
struct tile_columns {
  int width, count;

  /// Where columns are rows of an operand: how many of them each of so many blocks brings, whole atoms of a swizzle.
  __host__ __device__ constexpr int share(int blocks) const { return ((width + blocks - 1) / blocks + 7) / 8 * 8; }
};

/// The range [0, hi) in tiles of so many elements.
struct tiles_of_columns {
  int hi;
  tile_columns columns;

  __host__ __device__ constexpr int count() const { return columns.count; }
  __host__ __device__ constexpr tile_index operator[](int i) const {
    const int begin = i * columns.width;
    return {begin, hi - begin < columns.width ? hi : begin + columns.width, i};
  }
};

/// What a kernel allows: up to `most` columns, in steps of `step`.
struct column_range {
  int most, step;
  int blocks = 1; ///< of a cluster side by side along the columns

  constexpr int least() const { return most / 2 / step * step + step; }
};

/// The columns with which as many tiles as possible take no more rounds of the GPU than tiles of the most columns
/// would, and what that leaves is shared evenly. `others`: steps along the other axes of the grid, of a whole cluster
/// each; `at_once`: clusters that run at once.
constexpr tile_columns columns_of(long long extent, const column_range &range, long long others, long long at_once) {
  const auto per = [](long long x, long long y) { return (x + y - 1) / y; };
  const long long fewest = per(extent, 1ll * range.most * range.blocks);
  const long long rounds = at_once > 0 ? per(others * fewest, at_once) : 0;
  const long long tiles = others > 0 ? rounds * at_once / others : 0;
  const long long even = per(extent, (tiles > fewest ? tiles : fewest > 0 ? fewest : 1) * range.blocks);
  const long long width = per(even, range.step) * range.step;
  const int chosen = int(width < range.least() ? range.least() : width > range.most ? range.most : width);
  return {chosen, int(per(extent, chosen))};
}

} // namespace tk
