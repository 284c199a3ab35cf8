// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies from shared to global memory by threads: whole tiles, in runs of 16 bytes.
#pragma once

#include "tk/memory.h"
#include "tk/shared.h"

namespace tk {

/// view ← tile, the elements that exist, row by row; the tile's writers have synchronised.
template <int Threads, class T, class Tile>
__device__ __forceinline__ void copy_from_shared(bool wide, const view<T, 16> &to, const Tile &from, int thread) {
  constexpr int count = 16 / int(sizeof(T));
  constexpr int across = Tile::cols / count;
  static_assert(Tile::cols % count == 0, "rows of whole 16-byte chunks");
  if (tested_in_place(wide)) {
#pragma unroll 4
    for (int i = thread; i < Tile::rows * across; i += Threads) {
      const int r = i / across, c = i % across * count;
      if (!to.has_row(r) || !to.has_col(c))
        continue;
      u32 words[4];
      load_shared_words<4>(from.address() + u32(Tile::offset(r, c)), words);
      store_words<4>(to.at(r, c), words);
    }
  } else {
#pragma unroll 4
    for (int i = thread; i < Tile::rows * Tile::cols; i += Threads) {
      const int r = i / Tile::cols, c = i % Tile::cols;
      if (to.has_row(r) && to.has_col(c))
        to.base[r * to.row_stride + c * to.col_stride] = *from.at(r, c);
    }
  }
}

} // namespace tk
