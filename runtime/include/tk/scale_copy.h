// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block scales to shared memory, a row of them for each row of the operand, k contiguous: a few bytes, which no copy
// engine takes.
#pragma once

#include "tk/copy.h"

namespace tk {

/// The `i`-th row that a tile of scales is filled by, so that neighbouring threads write neighbouring words.
template <class Tile> __device__ __forceinline__ int filled_row(int i) {
  if constexpr (requires { Tile::row_in_memory(0); })
    return Tile::row_in_memory(i);
  else
    return i;
}

/// tile ← scales, four at a time and asynchronously where rows are aligned so, zeros where there are none.
/// `finish_copies` waits for them, or `copy_wait` for their group. DownFirst: for a source whose columns are
/// contiguous.
template <int Threads, bool DownFirst = false, class Tile, class T>
__device__ __forceinline__ void copy_scales(Tile &to, const view<T> &from, int thread) {
  constexpr int each = Tile::cols % 4 == 0 && !DownFirst ? 4 : 1, across = Tile::cols / each;
  constexpr bool down = DownFirst || requires { Tile::row_in_memory(0); };
  const u32 alignment = u32(reinterpret_cast<size_t>(from.base)) | u32(from.row_stride) | u32(from.col_end);
  const bool whole = alignment % 4 == 0 && from.col_begin <= 0 && from.col_stride == 1;
#pragma unroll 1
  for (int i = thread; i < Tile::rows * across; i += Threads) {
    const int r = filled_row<Tile>(down ? i % Tile::rows : i / across), c = (down ? i / Tile::rows : i % across) * each;
    if (each == 4 && whole && from.has_row(r) && from.has_col(c)) {
      copy_bytes_async<4>(shared_address(to.at(r, c)), from.at(r, c), 4);
      continue;
    }
#pragma unroll 1
    for (int s = c; s < c + each; ++s)
      *to.at(r, s) = from.has_row(r) && from.has_col(s) ? *from.at(r, s) : typename Tile::element{};
  }
}

} // namespace tk
