// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of a tile lie in shared memory, as the copy engine writes them and the matrix engine reads them.
//
// A row is cut into panels of `Swizzle` bytes; a panel holds all rows, one after another; and within some rows the
// 16-byte chunks of a row are permuted (permutation.h).
#pragma once

#include "tk/permutation.h"

namespace tk {

/// Swizzle: 32, 64 or 128, the bytes of a panel's row, or 0 for plain row-major. Grain: 16, the bytes that stay
/// together; 8 or 4 where the permutation of a GPU has that.
template <class Element, int Rows, int Cols, int Swizzle, int Grain = 16> struct tile_layout {
  static constexpr int rows = Rows, cols = Cols, swizzle = Swizzle, grain = Grain;
  static constexpr int row_bytes = Swizzle ? Swizzle : Cols * int(sizeof(Element));
  static constexpr int panel_cols = row_bytes / int(sizeof(Element));
  static constexpr int panels = (Cols + panel_cols - 1) / panel_cols;
  static constexpr int panel_bytes = Rows * row_bytes;
  /// Bytes that the copy engine delivers for the whole tile.
  static constexpr int byte_count = panels * panel_bytes;
  static_assert(Swizzle == 0 || Rows % permuted_rows == 0, "panels are whole swizzle atoms");
  static_assert(Swizzle == 0 || Grain > 4 || panels == 1 || Rows % (2 * permuted_rows) == 0,
                "pieces of 4 bytes are permuted alike after twice as many rows");

  /// Bytes from the tile's start to element (r, c), before the permutation: what descriptors count in.
  __host__ __device__ static constexpr int linear_offset(int r, int c) {
    return c / panel_cols * panel_bytes + r * row_bytes + c % panel_cols * int(sizeof(Element));
  }
  __host__ __device__ static constexpr int permuted(int offset) {
    if constexpr (Swizzle == 0)
      return offset;
    else
      return permute<Swizzle, Grain>(offset);
  }
  __host__ __device__ static constexpr int offset(int r, int c) { return permuted(linear_offset(r, c)); }
};

} // namespace tk
