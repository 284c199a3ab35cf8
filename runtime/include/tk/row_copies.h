// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that begin anywhere, by a role of which copying is all the work: words come asynchronously, and are shifted when
// they are there.
//
// Asynchronous copies take words that begin where words do. A row of bf16 that does not is brought from the word before
// its first element on, straight to its place in the tile. When all have come, a thread joins each word with the next
// one, which its neighbour has:
//     memory   | . a b c | d e . . |     (. : what lies around the row)
//     tile       . a b c   d e 0 0       when it has come
//     tile       a b c d   e 0 0 0       when it is shifted
// Bytes on their way need no registers so, where `copy_straddling` has as many as it has registers for.
#pragma once

#include "tk/copy.h"
#include "tk/warp.h"

namespace tk {

/// tile ← the view, whose rows are aligned to Bytes, asynchronously in pieces of as many. Lanes side by side have
/// pieces side by side: what a warp asks for at once lies in few lines of memory.
template <int Threads, int Bytes, class Tile, class T>
__device__ __forceinline__ void copy_pieces(Tile &to, const view<T> &from, int thread) {
  constexpr int count = Bytes / int(sizeof(T)), across = Tile::cols / count;
  constexpr int lanes = across < Threads ? across : Threads, step = Threads / lanes;
  if (thread / lanes >= step)
    return;
#pragma unroll 1
  for (int c = thread % lanes * count; c < Tile::cols; c += lanes * count) {
    const int left = from.col_end - c, present = (left < 0 ? 0 : left < count ? left : count) * int(sizeof(T));
#pragma unroll 1
    for (int r = thread / lanes; r < Tile::rows; r += step)
      copy_bytes_async<Bytes>(shared_address(to.at(r, c)), from.at(r, c), from.has_row(r) ? present : 0);
  }
}

/// tile ← the view, whose columns are contiguous and none before the first, where rows begin at words: asynchronously.
template <int Threads, class Tile, class T>
__device__ __forceinline__ void copy_word_rows(Tile &to, const view<T> &from, int thread) {
  const u32 alignment = row_alignment(from);
  if (alignment % 16 == 0)
    return copy_pieces<Threads, 16>(to, from, thread);
  if constexpr (sizeof(T) <= 8)
    if (alignment % 8 == 0)
      return copy_pieces<Threads, 8>(to, from, thread);
  if constexpr (sizeof(T) <= 4)
    copy_pieces<Threads, 4>(to, from, thread);
}

/// What a thread has yet to do for a tile that it helps to copy: nothing, or to shift words.
template <int Threads, class Tile> class rows_under_way {
  static constexpr int size = sizeof(typename Tile::element);
  static constexpr int words = Tile::cols * size / 4;                        ///< of a row
  static constexpr int width = (words & -words) < 32 ? words & -words : 32;  ///< words that lanes side by side have
  static constexpr int in_row = words / width, pieces = Tile::rows * in_row; ///< of so many words
  static constexpr int warps = Threads / 32, at_once = 32 / width;           ///< pieces that a warp does
  static constexpr int rounds = (pieces + warps * at_once - 1) / (warps * at_once);
  static constexpr int ends = (rounds + width - 1) / width; ///< a lane holds so many of its warp's
  static constexpr bool all_exist = pieces % (warps * at_once) == 0;
  static constexpr int most_ends = 4; ///< registers

public:
  /// Whether it takes rows that begin at no word. Divisions by three warps would take registers that there are not.
  static constexpr bool shifts = Threads % 32 == 0 && (warps & (warps - 1)) == 0 && size < 4 && ends <= most_ends;

  template <class T> __device__ __forceinline__ void begin(Tile &to, const view<T> &from, int thread_of_role) {
    thread = thread_of_role;
    address = to.address();
    begins = 16 | (u32(from.row_stride) * size & 3) << 2 | (u32(reinterpret_cast<size_t>(from.base)) & 3);
    const int present = (from.col_end < 0 ? 0 : from.col_end < Tile::cols ? from.col_end : Tile::cols) * size;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      const int n = number(round, lane_piece()), r = n / in_row, word = n % in_row * width + thread % width;
      if (!all_exist && n >= pieces)
        continue;
      const int left = end_of(from, r, present) - 4 * word;
      copy_bytes_async<4>(address + u32(Tile::offset(r, word * (4 / size))), words_of(from, r) + 4 * word,
                          left < 0   ? 0
                          : left < 4 ? left
                                     : 4);
    }
#pragma unroll
    for (int e = 0; e < ends; ++e) {
      const int of_warp = e * 32 + thread % 32, n = number(of_warp / at_once, of_warp % at_once), r = n / in_row;
      const int word = (n % in_row + 1) * width;
      const bool exists = of_warp / at_once < rounds && n < pieces;
      held[e] = exists ? bytes_at(words_of(from, r) + 4 * word, end_of(from, r, present) - 4 * word, shift_of(r)) : 0;
    }
  }

  /// When what this thread asked for has come.
  __device__ __forceinline__ void finish() const {
    if (begins == 0)
      return;
#pragma unroll
    for (int e = 0; e < ends; ++e)
#pragma unroll 1
      for (int round = e * width; round < (e + 1) * width && round < rounds; ++round) {
        const int n = number(round, lane_piece()), r = n / in_row,
                  c = (n % in_row * width + thread % width) * (4 / size);
        const bool exists = all_exist || n < pieces;
        u32 word = 0;
        if (exists)
          load_shared_words<1>(address + u32(Tile::offset(r, c)), &word);
        const u32 next = shuffle<width>(word, thread % width + 1);
        const u32 end = shuffle(held[e], (round * at_once + lane_piece()) % 32);
        word = __funnelshift_r(word, thread % width == width - 1 ? end : next, u32(shift_of(r)) * 8);
        if (exists)
          store_shared_words<1>(address + u32(Tile::offset(r, c)), &word);
      }
  }

private:
  /// Of a piece that the thread's warp does.
  __device__ __forceinline__ int number(int round, int of_warp) const {
    return (round * warps + thread / 32) * at_once + of_warp;
  }
  __device__ __forceinline__ int lane_piece() const { return thread % 32 / width; }
  __device__ __forceinline__ int shift_of(int r) const { return int((begins + u32(r) * (begins >> 2)) & 3); }

  template <class T> static __device__ __forceinline__ const u8 *words_of(const view<T> &from, int r) {
    const auto row = reinterpret_cast<size_t>(from.at(r, 0));
    return reinterpret_cast<const u8 *>(row & ~size_t(3));
  }
  /// Bytes from the row's first word on up to the last element that exists.
  template <class T> __device__ __forceinline__ int end_of(const view<T> &from, int r, int present) const {
    return from.has_row(r) && present > 0 ? shift_of(r) + present : 0;
  }
  /// So many bytes of a word, of which `left` exist.
  static __device__ __forceinline__ u32 bytes_at(const u8 *from, int left, int count) {
    if constexpr (size == 2) {
      return count > 0 && left >= 2 ? *reinterpret_cast<const u16 *>(from) : 0;
    } else {
      u32 word = 0;
#pragma unroll
      for (int i = 0; i < 3; ++i)
        word |= i < count && i < left ? u32(from[i]) << 8 * i : 0;
      return word;
    }
  }

  int thread = 0;
  u32 begins = 0; ///< modulo 4: where the first row begins, and 4 times what follows from row to row; 0: nothing to do
  u32 address = 0, held[ends] = {}; ///< held: what follows pieces
};

/// Begins the copy of a view, whose columns are contiguous, to a tile, if `copies`. A role with few registers, which
/// has a Batch of two, ends it before it begins the next one: what is yet to be done for both would spill.
template <int Threads, int Batch = 2, class Tile, class T>
__device__ __forceinline__ rows_under_way<Threads, Tile> bring_rows(Tile &to, const view<T> &from, int thread,
                                                                    bool copies = true) {
  rows_under_way<Threads, Tile> rows;
  if (!copies)
    return rows;
  if (!rows.shifts || from.col_begin > 0) {
    copy_rows_to_shared<Threads, Batch>(to, from, thread); // which takes fewer registers
  } else if (row_alignment(from) % 4 == 0) {
    copy_word_rows<Threads>(to, from, thread);
  } else if constexpr (rows.shifts) {
    rows.begin(to, from, thread);
    if constexpr (Batch <= 2) {
      asm volatile("cp.async.wait_all;" ::: "memory");
      rows.finish();
      return {};
    }
  }
  return rows;
}

/// Waits for what this thread copies, brings rows to their end, and lets the matrix engine see it.
template <class... Rows> __device__ __forceinline__ void finish_rows(const Rows &...rows) {
  asm volatile("cp.async.wait_all;" ::: "memory");
  (rows.finish(), ...);
  fence_proxy_async();
}

} // namespace tk
