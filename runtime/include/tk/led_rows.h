// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of rows that begin anywhere in memory, by whole accesses of 16 bytes that fill lines of caches.
//
// A tile of one row whose first column lies `lead` elements after the beginning of a line has its columns turned by as
// many: a thread's vectors begin that much earlier, and those that then lie before the tile hold its last columns. All
// of them lie as accesses want them but for the one that holds both ends of the tile, and goes by elements, as the one
// does in which the row ends. The same lead holds for all tiles of a kernel; a tensor whose rows lie otherwise, by no
// multiple of 16 bytes, is accessed by elements.
#pragma once

#include "tk/global.h"
#include "tk/integer_math.h"

namespace tk {

/// Columns by which the vectors of a tile begin before it, fewer than the first ones of all threads have.
struct lead {
  int columns;
};

/// That of rows like the one from `row` on, in lines of Line elements.
template <int Line, class T> __device__ __forceinline__ lead lead_of(const T *row) {
  return {int(size_t(row) / sizeof(T) % Line)};
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
  const int thread = thread_in_place(computed_here(rank<L>()));
#pragma unroll
  for (int b = 0; b < result.col_slots; ++b)
    result.set(0, b, b < L::run ? led_column<X::cols>(L::col(thread, b), before) : L::col(thread, b) - before.columns);
  return result;
}

/// Whether chunks of Count elements of a row lie at multiples of their size.
template <int Count, class T> __device__ __forceinline__ bool suits(const T *row, lead before) {
  return (size_t(row) / sizeof(T) - before.columns) % Count == 0;
}

/// The first column of a chunk of Count that would begin at `column`: if all of it lies before the tile, it is of the
/// tile's end.
template <int Cols, int Count> __device__ __forceinline__ int turned_chunk(int column) {
  return column + Count <= 0 ? column + Cols : column;
}

/// Where the chunks of Count elements that a thread has of X lie, of which those before column `end` exist. All of a
/// chunk exists, but for the one that holds both ends of the tile, which begins before it, and the one with `end`.
template <class X, int Count> struct led_chunks {
  using L = typename X::layout;
  static_assert(!X::has_rows && L::threads_per_row == L::threads, "a row, in all threads");
  lead before;
  int end, thread = thread_in_place(computed_here(rank<L>()));

  __device__ __forceinline__ int column(int b) const {
    const int c = L::col(thread, b) - before.columns;
    return b < L::run ? turned_chunk<X::cols, Count>(c) : c;
  }
  __device__ __forceinline__ bool is_whole(int b) const {
    const int c = column(b);
    return c >= 0 && (b >= L::run && end >= X::cols || c + Count <= end);
  }
  /// Where it lies in memory, `first` being where the first one does.
  template <class T> __device__ __forceinline__ T *at(int b, T *first) const {
    if (b >= L::run)
      return first + L::col(0, b);
    return first + L::col(0, b) + (L::col(thread, b) - before.columns + Count <= 0 ? X::cols : 0);
  }
  /// The column of the chunk that `end` cuts, if that is not also the one with both ends; else one that nobody has.
  __device__ __forceinline__ int cut() const {
    const int elements = (end + before.columns) % Count;
    return end < X::cols && elements > 0 && end >= elements ? end - elements : X::cols;
  }
  __device__ __forceinline__ bool has(int column_of_one) const {
    bool found = false;
#pragma unroll
    for (int b = 0; b < X::col_slots; b += Count)
      found |= column(b) == column_of_one;
    return found;
  }
  /// Calls f(b) for the chunks that begin before the tile.
  template <class F> __device__ __forceinline__ void for_turned(F f) const {
#pragma unroll
    for (int b = 0; b < L::run; b += Count)
      if (column(b) < 0)
        f(b);
  }
  /// Calls f(b, c) for each chunk, of column c, one after the other, if threads seldom have several that need it.
  template <class F> __device__ __forceinline__ void for_each(F f) const {
    if constexpr (repeats_code) {
#pragma unroll
      for (int b = 0; b < X::col_slots; b += Count)
        f(b, column(b));
    } else {
#pragma unroll 1
      for (int b = 0; b < X::col_slots; b += Count)
        f(b, column(b));
    }
  }
};

/// The bits of word i of a chunk that are its first `elements`, of Size bytes each.
template <int Size> __device__ __forceinline__ u32 first_bits(int elements, int i) {
  const int bits = min(max(elements * Size * 8 - 32 * i, 0), 32);
  return bits == 32 ? ~0u : (1u << bits) - 1;
}

/// The elements that exist, zeros where there is nothing. Chunks of which only some do are accessed whole where they
/// lie between `begin` and `end`.
template <tile X, class T>
__device__ __forceinline__ X load_led(lead before, T *begin, T *end, const view<T, 16> &from) {
  using L = typename X::layout;
  using E = typename X::element;
  static_assert(sizeof(E) == sizeof(T), "load the stored type, then cast");
  constexpr int count = chunk_elements<X, view<T, 16>>(), words = count * int(sizeof(E)) / 4;
  const led_chunks<X, count> chunks{before, from.col_end};
  const auto element = [&](int c) {
    const int column = c < 0 ? c + X::cols : c;
    return column < from.col_end ? *from.at(0, column) : E{};
  };
  X result = zeros<X>();
  if (words == 0 || !tested_in_place(suits<count>(from.base, before))) {
    chunks.for_each([&](int b, int c) {
      registers<E, count> chunk{};
#pragma unroll
      for (int i = 0; i < count; ++i)
        chunk.set(i, element(c + i));
#pragma unroll
      for (int slot = 0; slot < X::col_slots; ++slot)
        if (slot / count * count == b)
          result.set(0, slot, chunk.get(slot % count));
    });
    return result;
  }
  if constexpr (words > 0) {
    T *const first = from.at(0, L::col(chunks.thread, 0) - before.columns);
#pragma unroll
    for (int b = 0; b < X::col_slots; b += count)
      if (chunks.is_whole(b))
        load_chunk<count>(result, 0, b, chunks.at(b, first));
    const auto owned = [&](int c) { return from.at(0, c) >= begin && from.at(0, c + count) <= end; };
    const auto by_elements = [&](int c, u32 *chunk) {
      E elements[count];
#pragma unroll
      for (int i = 0; i < count; ++i)
        elements[i] = element(c + i);
      __builtin_memcpy(chunk, elements, sizeof(elements));
    };
    chunks.for_turned([&](int b) {
      const int c = chunks.column(b), begins = from.cols_from(c), ends = min(begins - X::cols, -c);
      u32 chunk[words], last[words];
      if (owned(c) && owned(c + X::cols)) {
        load_words<words>(from.at(0, c), chunk);
        load_words<words>(from.at(0, c + X::cols), last);
#pragma unroll
        for (int i = 0; i < words; ++i)
          chunk[i] = (chunk[i] & first_bits<sizeof(E)>(begins, i) & ~first_bits<sizeof(E)>(-c, i)) |
                     (last[i] & first_bits<sizeof(E)>(ends, i));
      } else {
        by_elements(c, chunk);
      }
      set_chunk_words<count>(result, 0, b, chunk);
    });
    if (const int cut = chunks.cut(); chunks.has(cut)) {
      u32 chunk[words];
      if (owned(cut)) {
        load_words<words>(from.at(0, cut), chunk);
#pragma unroll
        for (int i = 0; i < words; ++i)
          chunk[i] &= first_bits<sizeof(E)>(from.cols_from(cut), i);
      } else {
        by_elements(cut, chunk);
      }
#pragma unroll
      for (int b = 0; b < X::col_slots; b += count)
        if (chunks.column(b) == cut)
          set_chunk_words<count>(result, 0, b, chunk);
    }
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
  const led_chunks<X, count> chunks{before, to.col_end};
  const auto store_element = [&](int c, T value) {
    if (const int column = c < 0 ? c + X::cols : c; column < to.col_end)
      *to.at(0, column) = value;
  };
  const bool wide = tested_in_place(suits<count>(to.base, before));
  if (wide) {
    T *const first = to.at(0, X::layout::col(chunks.thread, 0) - before.columns);
#pragma unroll
    for (int b = 0; b < X::col_slots; b += count)
      if (chunks.is_whole(b))
        store_chunk<count>(x, 0, b, chunks.at(b, first));
    chunks.for_turned([&](int b) {
#pragma unroll
      for (int i = 0; i < count; ++i)
        store_element(chunks.column(b) + i, x.at(0, b + i));
    });
  }
  const int cut = chunks.cut();
  if (!wide || cut < X::cols)
    chunks.for_each([&](int b, int c) {
      if (wide && c != cut)
        return;
      registers<T, count> chunk{};
#pragma unroll
      for (int slot = 0; slot < X::col_slots; ++slot)
        if (slot / count * count == b)
          chunk.set(slot % count, x.at(0, slot));
#pragma unroll
      for (int i = 0; i < count; ++i)
        store_element(c + i, chunk.get(i));
    });
}

} // namespace tk
