// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies from shared to global memory by threads, row by row, in vectors of 16 bytes.
//
// A row of a tile may begin anywhere in memory. Its vectors are those that begin at multiples of 16 bytes there; the
// elements before the first of them and after the last go one by one. A vector then has the end of one 16-byte chunk
// of the tile's row, and the beginning of the next.
#pragma once

#include "tk/global.h"
#include "tk/integer_math.h"
#include "tk/shared.h"

namespace tk {

/// The vectors of 16 bytes, at multiples of 16 bytes, that lie within some elements from `row` on.
template <class T> struct row_vectors {
  static constexpr int count = 16 / int(sizeof(T));
  int before; ///< elements before the first of them
  int number;
  int apart; ///< elements that none of them has

  __device__ __forceinline__ row_vectors(const T *row, int elements)
      : before(min(int(-(u64(row) / sizeof(T)) % count), elements)), number(int(u32(elements - before) / count)),
        apart(elements - number * count) {}

  __device__ __forceinline__ int column(int vector) const { return before + vector * count; }
  /// Of the i-th element that no vector has.
  __device__ __forceinline__ int column_apart(int i) const { return i < before ? i : i + number * count; }
};

/// chosen ? a : b, of values: an array out of which one of two elements is taken by address stays in memory.
__device__ __forceinline__ u32 word_of(bool chosen, u32 a, u32 b) { return chosen ? a : b; }

/// words ← the 16 bytes from byte `shift` on, a multiple of Grain below 16.
template <int Grain> __device__ __forceinline__ void shift_words(u32 (&words)[8], int shift) {
#pragma unroll
  for (int i = 0; i < 6; ++i)
    words[i] = word_of(shift & 8, words[i + 2], words[i]);
#pragma unroll
  for (int i = 0; i < 5; ++i)
    words[i] = word_of(shift & 4, words[i + 1], words[i]);
  if constexpr (Grain < 4)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      words[i] = word_from(words[i], words[i + 1], shift % 4);
}

/// view ← slice, the elements that exist, for rows that begin anywhere in memory. By Threads threads; `thread` is the
/// caller's number among them. The slice's writers have synchronised.
template <int Threads, class T, class Tile, int Rows, int Cols>
__device__ __forceinline__ void copy_from_shared(const view<T> &to, const shared_slice<Tile, Rows, Cols> &from,
                                                 int thread) {
  constexpr int count = row_vectors<T>::count, across = Cols / count, batch = 2;
  constexpr int lanes = across < Threads ? across : Threads, step = Threads / lanes;
  static_assert(Cols % count == 0, "rows of whole 16-byte chunks");
  const auto address = [&](int r, int c) { return from.address + u32(Tile::offset(r, c)); };
  if (to.col_stride != 1) {
#pragma unroll 4
    for (int i = thread; i < Rows * Cols; i += Threads)
      if (to.has_row(i / Cols) && to.has_col(i % Cols))
        *to.at(i / Cols, i % Cols) = *shared_pointer<T>(address(i / Cols, i % Cols));
    return;
  }
  const int rows = min(to.row_end, Rows), elements = min(max(to.col_end, 0), Cols);
  const int lane = int(u32(thread) % lanes);
  if (u32(thread) / lanes >= step)
    return;
#pragma unroll 1
  for (int chunk = lane; chunk < across; chunk += lanes) {
    const int next = chunk + 1 < across ? chunk + 1 : chunk;
#pragma unroll 1
    for (int first = int(u32(thread) / lanes); first < rows; first += step * batch) {
      u32 words[batch][8];
#pragma unroll
      for (int n = 0; n < batch; ++n) {
        const int r = min(first + n * step, Rows - 1);
        load_shared_words<4>(address(r, chunk * count), words[n]);
        load_shared_words<4>(address(r, next * count), words[n] + 4);
      }
#pragma unroll
      for (int n = 0; n < batch; ++n) {
        const int r = first + n * step;
        if (r >= rows)
          break;
        T *const row = to.at(r, 0);
        const row_vectors<T> vectors(row, elements);
        shift_words<sizeof(T)>(words[n], vectors.before * int(sizeof(T)));
        if (chunk < vectors.number)
          store_words<4>(row + vectors.column(chunk), words[n]);
#pragma unroll 1
        for (int i = chunk; i < vectors.apart; i += across) {
          const int c = vectors.column_apart(i);
          row[c] = *shared_pointer<T>(address(r, c));
        }
      }
    }
  }
}
template <int Threads, class T, int Rows, int Cols, int Swizzle, int Grain>
__device__ __forceinline__ void copy_from_shared(const view<T> &to,
                                                 const shared_tile<T, Rows, Cols, Swizzle, Grain> &from, int thread) {
  copy_from_shared<Threads>(to, from.all(), thread);
}

/// view ← tile, likewise. `wide`: all rows begin and end at multiples of 16 bytes.
template <int Threads, class T, class Tile>
__device__ __forceinline__ void copy_from_shared(bool wide, const view<T, 16> &to, const Tile &from, int thread) {
  constexpr int count = 16 / int(sizeof(T));
  constexpr int across = Tile::cols / count;
  static_assert(Tile::cols % count == 0, "rows of whole 16-byte chunks");
  if (!tested_in_place(wide)) {
    copy_from_shared<Threads>(narrow(to), from, thread);
    return;
  }
#pragma unroll 4
  for (int i = thread; i < Tile::rows * across; i += Threads) {
    const int r = i / across, c = i % across * count;
    if (!to.has_row(r) || !to.has_col(c))
      continue;
    u32 words[4];
    load_shared_words<4>(from.address() + u32(Tile::offset(r, c)), words);
    store_words<4>(to.at(r, c), words);
  }
}

} // namespace tk
