// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of a tile lie in shared memory, as the copy engine writes them and the matrix engine reads them.
//
// A row is cut into panels of `Swizzle` bytes; a panel holds all rows, one after another; and within 8 rows the 16-byte
// chunks of a row are permuted, so that eight threads that read one chunk each of eight rows meet no bank conflict
// (PTX ISA, "Swizzling modes"; the copy engine does the same with CU_TENSOR_MAP_SWIZZLE_{32B,64B,128B}).
#pragma once

#include "tk/config.h"

namespace tk {

/// Swizzle: 32, 64 or 128, the bytes of a panel's row, or 0 for plain row-major.
template <class Element, int Rows, int Cols, int Swizzle> struct tile_layout {
  static constexpr int rows = Rows, cols = Cols, swizzle = Swizzle;
  static constexpr int row_bytes = Swizzle ? Swizzle : Cols * int(sizeof(Element));
  static constexpr int panel_cols = row_bytes / int(sizeof(Element));
  static constexpr int panels = (Cols + panel_cols - 1) / panel_cols;
  static constexpr int panel_bytes = Rows * row_bytes;
  /// Bytes that the copy engine delivers for the whole tile.
  static constexpr int byte_count = panels * panel_bytes;
  static_assert(Swizzle == 0 || Rows % 8 == 0, "panels are whole swizzle atoms");

  /// Bytes from the tile's start to element (r, c), before the permutation: what descriptors count in.
  __host__ __device__ static constexpr int linear_offset(int r, int c) {
    return c / panel_cols * panel_bytes + r * row_bytes + c % panel_cols * int(sizeof(Element));
  }
  /// The 16-byte chunk number is XORed with the low bits of the row number.
  __host__ __device__ static constexpr int permuted(int offset) {
    if constexpr (Swizzle == 0)
      return offset;
    else
      return offset ^ ((offset >> 7 & (Swizzle / 16 - 1)) << 4);
  }
  __host__ __device__ static constexpr int offset(int r, int c) { return permuted(linear_offset(r, c)); }
};

} // namespace tk
