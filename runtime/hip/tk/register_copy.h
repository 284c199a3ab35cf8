// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies from global to shared memory through registers: a share of the tile is fetched before the work that hides the
// way, and placed after it.
#pragma once

#include "tk/buffer.h"
#include "tk/in_place.h"
#include "tk/memory.h"
#include "tk/shared.h"

namespace tk {

/// The chunks of a tile that are a thread's: number `thread`, `thread` + Threads and so on, counted along the rows or,
/// with DownFirst, down the columns of chunks (for a source whose columns are contiguous). A chunk has
/// `Step` columns; with 1, columns are counted in chunks.
template <int Rows, int Cols, int Step, int Threads, bool DownFirst = false> struct own_chunks {
  static constexpr int across = Cols / Step, all = Rows * across, each = (all + Threads - 1) / Threads;

  /// Calls f(i, row, column) for each.
  template <class F> __device__ __forceinline__ static void for_each(int thread, F f) {
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int chunk = thread + i * Threads;
      if (all % Threads == 0 || chunk < all)
        f(i, DownFirst ? chunk % Rows : chunk / across, (DownFirst ? chunk / Rows : chunk % across) * Step);
    }
  }
};

/// x and y change places where all bits of `mask` are set, and stay where none is: by bits, since compilers make of a
/// selection between two of an array's elements one of their addresses, and then keep the array in memory.
__device__ __forceinline__ void exchange_by(u32 mask, u32 &x, u32 &y) {
  const u32 first = (y & mask) | (x & ~mask);
  y = (x & mask) | (y & ~mask);
  x = first;
}

/// Stores the chunk of 16 bytes that begins with element (r, c) of a tile: in the order in which the swizzle has its
/// parts, where its grain is finer.
template <class Tile> __device__ __forceinline__ void store_chunk(u32 address, int r, int c, const u32 *words) {
  constexpr int grain = Tile::swizzle ? Tile::grain : 16;
  u32 placed[4] = {words[0], words[1], words[2], words[3]};
  if constexpr (grain <= 8) {
    const u32 mask = 0u - (u32(r) >> 3 & 1);
    exchange_by(mask, placed[0], placed[2]);
    exchange_by(mask, placed[1], placed[3]);
  }
  if constexpr (grain == 4) {
    const u32 mask = 0u - (u32(r) >> 4 & 1);
    exchange_by(mask, placed[0], placed[1]);
    exchange_by(mask, placed[2], placed[3]);
  }
  store_shared_words<4>(address + u32(Tile::offset(r, c) & ~15), placed);
}

/// A thread's share of a tile, in chunks of 16 bytes.
template <class T, int Rows, int Cols, int Threads, bool DownFirst = false> struct share {
  static constexpr int count = 16 / int(sizeof(T));
  static_assert(Cols % count == 0, "rows of whole 16-byte chunks");
  using chunks = own_chunks<Rows, Cols, count, Threads, DownFirst>;
  u32 words[chunks::each][4];

  /// ← the view; what lies outside is zero.
  template <int Align> __device__ __forceinline__ void fetch(const view<const T, Align> &from, int thread) {
    const buffer_view<T> buffer(from);
    chunks::for_each(thread, [&](int i, int r, int c) {
      if constexpr (Align >= 16) {
        buffer.load_chunk(r, c, words[i]);
      } else {
        T elements[count];
#pragma unroll
        for (int e = 0; e < count; ++e)
          elements[e] = buffer.load_element(r, c + e);
        __builtin_memcpy(words[i], elements, 16);
      }
    });
  }
  /// By 16 bytes where `wide` holds, which is the same for all threads, else by elements.
  __device__ __forceinline__ void fetch(bool wide, const view<const T, 16> &from, int thread) {
    if (tested_in_place(wide))
      fetch(from, thread);
    else
      fetch(view<const T>{from.base, from.row_stride, from.row_end, from.col_end, 1, from.row_begin, from.col_begin},
            thread_in_place(thread));
  }

  template <class Tile> __device__ __forceinline__ void place(Tile &to, int thread) const {
    static_assert(same<typename Tile::element, T> && Tile::rows == Rows && Tile::cols == Cols);
    const u32 address = to.address();
    chunks::for_each(thread, [&](int i, int r, int c) { store_chunk<Tile>(address, r, c, words[i]); });
  }
};

} // namespace tk
