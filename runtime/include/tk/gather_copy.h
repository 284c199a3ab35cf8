// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that columns of indices name, from global to shared memory while the threads go on. Neighbouring threads have
// the same elements of these columns, and copy neighbouring chunks of the rows.
#pragma once

#include "tk/cp_async.h"
#include "tk/fragment.h"
#include "tk/tiles.h"

namespace tk {

/// A row of a tile ← elements 0 to `cols` of `row`, and zeros, by `Lanes` threads; `place` is where its chunk number
/// `lane` lies in shared memory. In chunks, asynchronously.
template <int Lanes, class Tile, class T>
__device__ __forceinline__ void copy_row_chunks(Tile &to, int r, u32 place, const T *row, int cols, int lane) {
  constexpr int count = 16 / int(sizeof(T)), across = Lanes * count;
  static_assert(Tile::cols % count == 0, "rows of whole 16-byte chunks");
  // Whole panels further on, a chunk lies at the same place.
  constexpr bool steps = Tile::swizzle == 0 || across % Tile::panel_cols == 0;
  constexpr int step = steps ? Tile::linear_offset(0, across) : 0;
#pragma unroll 4
  for (int i = 0; i * across < Tile::cols; ++i) {
    const int c = i * across + lane * count;
    const u32 at = steps ? place + u32(i * step) : to.address() + u32(Tile::offset(r, c));
    if (Tile::cols % across == 0 || c < Tile::cols)
      copy_async_16_of(at, row + c, min(left_from(c, cols), count) * int(sizeof(T)));
  }
}

/// tile ← for each row r the `cols` elements from base + offsets[r] on, if exists[r], then zeros. `wide`, the same for
/// all threads: all rows begin at multiples of 16 bytes. Where they do not, the copy is done by elements at once.
template <class Tile, class T, class Offsets, class Exists>
__device__ __forceinline__ void copy_rows_by_index(Tile &to, bool wide, const T *base, const Offsets &offsets,
                                                   const Exists &exists, int cols) {
  using L = typename Offsets::layout;
  constexpr int lanes = L::threads_per_row, at_once = L::rows_at_once, named = Offsets::row_slots;
  constexpr bool steps = at_once % permuted_rows == 0; // rows so far apart are permuted alike
  const int lane = rank<L>() % lanes, chunk = lane * 16 / int(sizeof(T));
  const u32 place = to.address() + u32(Tile::offset(L::row(rank<L>(), 0), chunk));
#pragma unroll
  for (int a = 0; a * at_once < Tile::rows; ++a) {
    const int r = L::row(rank<L>(), a), slot = a < named ? a : 0;
    const bool is_row = a < named && element_at(exists, slot, 0);
    const T *row = base + (is_row ? element_at(offsets, slot, 0) : 0);
    if (Tile::rows % at_once != 0 && r >= Tile::rows)
      continue;
    if (wide) {
      copy_row_chunks<lanes>(
          to, r, steps ? place + u32(a * at_once * Tile::row_bytes) : to.address() + u32(Tile::offset(r, chunk)), row,
          is_row ? cols : 0, lane);
    } else {
#pragma unroll 1
      for (int c = lane; c < Tile::cols; c += lanes)
        *to.at(r, c) = is_row && c < cols ? row[c] : T{};
    }
  }
}

} // namespace tk
