// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of rows that begin anywhere in memory, by whole accesses of 16 bytes.
//
// A tile of one row whose first column lies `lead` elements after such an address has its columns turned by as many: a
// thread's vectors begin that much earlier. All of them lie as accesses want them but for the first, which holds the
// tile's first columns and, in their place, its last ones, and goes by elements, as the one does in which the row ends.
// The same lead holds for all tiles of a kernel; a tensor whose rows lie otherwise is accessed by elements.
#pragma once

#include "tk/global.h"
#include "tk/integer_math.h"

namespace tk {

/// Columns by which the vectors of a tile begin before it, less than one has.
struct lead {
  int columns;
};

/// That of rows like the one from `row` on, in vectors of Vec elements.
template <int Vec, class T> __device__ __forceinline__ lead lead_of(const T *row) {
  return {int(size_t(row) / sizeof(T) % Vec)};
}

/// The column at `place` of the turned tile of Cols columns.
template <int Cols> __device__ __forceinline__ int led_column(int place, lead before) {
  return place < before.columns ? place - before.columns + Cols : place - before.columns;
}

/// Column numbers of X.
template <tile X> __device__ __forceinline__ row<int, X::cols, typename X::layout> led_col_index(lead before) {
  using L = typename X::layout;
  begin_masks();
  row<int, X::cols, L> result;
  const int thread = thread_in_place(rank<L>());
#pragma unroll
  for (int b = 0; b < result.col_slots; ++b)
    result.set(0, b, b < L::run ? led_column<X::cols>(L::col(thread, b), before) : L::col(thread, b) - before.columns);
  return result;
}

/// Whether chunks of Count elements of a row lie at multiples of their size.
template <int Count, class T> __device__ __forceinline__ bool suits(const T *row, lead before) {
  return (size_t(row) / sizeof(T) - before.columns) % Count == 0;
}

/// Calls whole(b, c) for each chunk of Count of the thread's elements that lie side by side before column `end`, if
/// `suits` says that these can be accessed at once; c: how far it lies after the first of the thread's. Calls
/// part(b, c), of column c, for all others of which something comes before `end`.
/// Of those a thread has one or two if it suits, so that their code is there once: b is not known when compiling.
/// `turned`: the chunk that holds both ends of the tile is not asked for.
template <class X, int Count, class Whole, class Part>
__device__ __forceinline__ void for_each_led_chunk(bool suits, bool turned, lead before, int end, Whole whole,
                                                   Part part) {
  using L = typename X::layout;
  static_assert(!X::has_rows && L::threads_per_row == L::threads, "a row, in all threads");
  const int thread = thread_in_place(rank<L>());
  const auto is_whole = [&](int b, int c) { return c >= 0 && (b >= L::run && end >= X::cols || c + Count <= end); };
  if (suits) {
#pragma unroll
    for (int b = 0; b < X::col_slots; b += Count)
      if (is_whole(b, L::col(thread, b) - before.columns))
        whole(b, L::col(0, b));
  }
  const int slots = suits && end >= X::cols ? L::run : X::col_slots; // of a whole tile only what is turned
  const auto rest = [&](int b) {
    if (const int c = L::col(thread, b) - before.columns;
        b < slots && c < end && !(suits && is_whole(b, c)) && !(turned && c < 0))
      part(b, c);
  };
  if constexpr (repeats_code) {
#pragma unroll
    for (int b = 0; b < X::col_slots; b += Count)
      rest(b);
  } else {
#pragma unroll 1
    for (int b = 0; b < slots; b += Count)
      rest(b);
  }
}

/// The elements that exist, zeros where there is nothing. Where a tile is whole, the chunk that holds both its ends is
/// put together from two that lie in memory, of which the elements beside the tile are dropped; they belong to the
/// tensor, which nobody may be writing, or are not read.
template <tile X, class T>
__device__ __forceinline__ X load_led(lead before, T *begin, T *end, const view<T, 16> &from) {
  using L = typename X::layout;
  using E = typename X::element;
  static_assert(sizeof(E) == sizeof(T), "load the stored type, then cast");
  constexpr int count = chunk_elements<X, view<T, 16>>();
  constexpr int words = count * int(sizeof(E)) / 4;
  X result = zeros<X>();
  T *first_chunk = from.at(0, L::col(thread_in_place(rank<L>()), 0) - before.columns);
  const auto whole = [&](int b, int c) { load_chunk<count>(result, 0, b, first_chunk + c); };
  const auto part = [&](int b, int c) {
    registers<E, count> chunk{};
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int column = c + i < 0 ? c + i + X::cols : c + i;
      chunk.set(i, column < from.col_end ? *from.at(0, column) : E{});
    }
#pragma unroll
    for (int slot = 0; slot < X::col_slots; slot += count)
#pragma unroll
      for (int i = 0; i < count; ++i)
        if (slot == b)
          result.set(0, slot + i, chunk.get(i));
  };
  const bool wide = tested_in_place(suits<count>(from.base, before));
  if constexpr (L::run == count && words > 0 && words * 4 == count * int(sizeof(E))) {
    const int c = L::col(rank<L>(), 0) - before.columns;
    const bool turned =
        wide && c < 0 && from.col_end >= X::cols && first_chunk >= begin && first_chunk + X::cols + count <= end;
    u32 first[words] = {}, last[words] = {};
    if (turned) {
      load_words<words>(first_chunk, first);
      load_words<words>(first_chunk + X::cols, last);
    }
    for_each_led_chunk<X, count>(wide, turned, before, from.col_end, whole, part);
    const int bits = before.columns * int(sizeof(E)) * 8;
    if (turned) {
#pragma unroll
      for (int i = 0; i < words; ++i) {
        const int kept = min(max(bits - 32 * i, 0), 32); // low bits of the word that are the tile's last ones
        const u32 mask = kept == 32 ? ~0u : (1u << kept) - 1;
        first[i] = (last[i] & mask) | (first[i] & ~mask);
      }
      set_chunk_words<count>(result, 0, 0, first);
    }
  } else {
    for_each_led_chunk<X, count>(wide, false, before, from.col_end, whole, part);
  }
  return result;
}

template <tile X, class T, int Rank>
__device__ __forceinline__ X load_led(lead before, const global<T, Rank> &tensor, const view<T, 16> &from) {
  return load_led<X>(before, tensor.data, tensor.end(), from);
}
/// The same of a tensor that somebody may be writing.
template <tile X, class T> __device__ __forceinline__ X load_led(lead before, const view<T, 16> &from) {
  return load_led<X>(before, from.base, from.base, from); // no chunk lies there
}

/// The elements that exist ← x.
template <class T, tile X> __device__ __forceinline__ void store_led(lead before, const view<T, 16> &to, const X &x) {
  static_assert(same<T, typename X::element>, "cast first");
  constexpr int count = chunk_elements<X, view<T, 16>>();
  using L = typename X::layout;
  T *first_chunk = to.at(0, L::col(thread_in_place(rank<L>()), 0) - before.columns);
  const auto whole = [&](int b, int c) { store_chunk<count>(x, 0, b, first_chunk + c); };
  const auto part = [&](int b, int c) {
    registers<T, count> chunk{};
#pragma unroll
    for (int slot = 0; slot < X::col_slots; slot += count)
#pragma unroll
      for (int i = 0; i < count; ++i)
        if (slot == b)
          chunk.set(i, x.at(0, slot + i));
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int column = c + i < 0 ? c + i + X::cols : c + i;
      if (column < to.col_end)
        *to.at(0, column) = chunk.get(i);
    }
  };
  for_each_led_chunk<X, count>(tested_in_place(suits<count>(to.base, before)), false, before, to.col_end, whole, part);
}

} // namespace tk
