// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register tiles to and from shared tiles by instructions that move whole matrices. On gfx950, where lanes can exchange
// registers with others 16 or 32 away, 16-bit accumulators: a lane holds runs of four columns, 8 bytes, and its
// neighbour's run follows in memory. It gives every other run away for its neighbour's, and stores 16 bytes at once;
// eight rows of 8 bytes would leave half of the banks alone.
// "AMD Instinct CDNA4 Instruction Set Architecture", "Vector ALU Operations": v_permlane16_swap_b32,
// v_permlane32_swap_b32.
#pragma once

#include "tk/fragment.h"
#include "tk/mfma_layout.h"
#include "tk/shared.h"

namespace tk {

template <class L> inline constexpr int mfma_tile = 0;
template <int Waves, int Tile> inline constexpr int mfma_tile<mfma_layout<Waves, Tile, 4>> = Tile;

/// Whether pairs of runs can move so.
template <class X, class Tile>
inline constexpr bool moves_by_matrices =
    gfx == 950 && mfma_tile<typename X::layout> != 0 && is_float16<typename X::element> && X::has_rows && X::has_cols &&
    X::col_slots % 8 == 0 && Tile::swizzle != 0;

template <class X, class Tile, int Rows> inline constexpr bool transposes_by_matrices = false;

/// The odd groups of Lanes lanes of `x` and the even ones of `y` change places.
template <int Lanes> __device__ __forceinline__ void swap_lanes(u32 &x, u32 &y) {
  if constexpr (gfx == 950) {
    const auto swapped = [&] {
      if constexpr (Lanes == 16)
        return __builtin_amdgcn_permlane16_swap(x, y, false, false);
      else
        return __builtin_amdgcn_permlane32_swap(x, y, false, false);
    }();
    x = swapped[0], y = swapped[1];
  }
}

/// Calls f(first, second, row, offset) for each two runs: the numbers of their first words in the fragment, and the row
/// and the place in the tile of the 16 bytes that this lane holds of them once lanes have exchanged.
template <class X, class Tile, class F> __device__ __forceinline__ void for_each_pair(F f) {
  using L = typename X::layout;
  constexpr int run = L::run, tile = L::tile;
  const int thread = rank<L>(), group = thread % 64 / tile;
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < X::col_slots; b += 2 * run) {
      const int row = L::row(thread, a);
      const int col = (b / run + group % 2) * L::threads_per_row * run + group / 2 * 2 * run;
      const int word = (a * X::col_slots + b) / 2;
      f(word, word + run / 2, row, Tile::offset(row, col));
    }
}

/// slice ← x; rows that the slice lacks are padding of x, and not stored.
template <class Tile, int Rows, int Cols, class X>
__device__ __forceinline__ void store_by_matrices(const shared_slice<Tile, Rows, Cols> &to, const X &x) {
  for_each_pair<X, Tile>([&](int first, int second, int row, int offset) {
    u32 words[4] = {x.data.words[first], x.data.words[first + 1], x.data.words[second], x.data.words[second + 1]};
    swap_lanes<X::layout::tile>(words[0], words[2]);
    swap_lanes<X::layout::tile>(words[1], words[3]);
    if (Rows >= X::rows || row < Rows)
      store_shared_words<4>(to.address + u32(offset), words);
  });
}
template <class Tile, int Rows, int Cols, class X>
__device__ __forceinline__ void load_by_matrices(const shared_slice<Tile, Rows, Cols> &from, X &x) {
  for_each_pair<X, Tile>([&](int first, int second, int, int offset) {
    u32 words[4];
    load_shared_words<4>(from.address + u32(offset), words);
    swap_lanes<X::layout::tile>(words[0], words[2]);
    swap_lanes<X::layout::tile>(words[1], words[3]);
    x.data.words[first] = words[0], x.data.words[first + 1] = words[1];
    x.data.words[second] = words[2], x.data.words[second + 1] = words[3];
  });
}

} // namespace tk
