// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register tiles to and from shared tiles.
//
// What can goes by matrices (matrix_copy.h), everything else by runs of consecutive columns. Shared tiles that the copy
// or matrix engine reads next need `fence_proxy_async()` by every storing thread, then a barrier.
#pragma once

#include "tk/fragment.h"
#include "tk/matrix_copy.h"
#include "tk/words.h"

namespace tk {

/// How many elements of X move at once between registers and a tile: a run, at most 16 bytes, at least 4.
template <class X> __device__ constexpr int shared_chunk() {
  constexpr int size = sizeof(typename X::element);
  constexpr int count = X::layout::run * size > 16 ? 16 / size : X::layout::run;
  return X::has_cols && count * size >= 4 ? count : 1;
}
/// The same, or two elements that are half a register.
template <class X> __device__ constexpr int shared_chunk_or_pair() {
  const bool is_pair =
      decltype(X::data)::packed && X::has_cols && sizeof(typename X::element) == 1 && X::layout::run == 2;
  return is_pair ? 2 : shared_chunk<X>();
}

/// One element.
template <class T> __device__ __forceinline__ void put_element(u32 address, T value) {
  *shared_pointer<T>(address) = value;
}

/// Moves the `Count` elements from (a, b) on.
template <int Count, tile X> __device__ __forceinline__ void put_chunk(u32 address, const X &x, int a, int b) {
  if constexpr (Count == 1 && sizeof(typename X::element) < 4) {
    *shared_pointer<typename X::element>(address) = x.at(a, b);
  } else if constexpr (Count * sizeof(typename X::element) < 4) {
    constexpr int per_word = decltype(x.data)::per_word;
    const int first = X::index(a, b);
    *shared_pointer<u16>(address) = u16(x.data.words[first / per_word] >> first % per_word * 8);
  } else {
    u32 words[Count * sizeof(typename X::element) / 4];
    chunk_words<Count>(x, a, b, words);
    store_shared_words<int(Count * sizeof(typename X::element) / 4)>(address, words);
  }
}
/// Those from (a, b) on, or where `turned` from (a, other) on.
template <int Count, tile X>
__device__ __forceinline__ void put_chunk_of(u32 address, const X &x, int a, int b, int other, bool turned) {
  constexpr int count = Count * int(sizeof(typename X::element)) / 4;
  u32 words[count], others[count];
  chunk_words<Count>(x, a, b, words);
  chunk_words<Count>(x, a, other, others);
#pragma unroll
  for (int i = 0; i < count; ++i)
    words[i] = turned ? others[i] : words[i];
  store_shared_words<count>(address, words);
}
template <int Count, tile X> __device__ __forceinline__ void get_chunk(u32 address, X &x, int a, int b) {
  if constexpr (Count == 1 && sizeof(typename X::element) < 4) {
    x.set(a, b, *shared_pointer<typename X::element>(address));
  } else if constexpr (Count * sizeof(typename X::element) < 4) {
    constexpr int per_word = decltype(x.data)::per_word;
    const int first = X::index(a, b), shift = first % per_word * 8;
    u32 &word = x.data.words[first / per_word];
    word = (word & ~(0xffffu << shift)) | u32(*shared_pointer<u16>(address)) << shift;
  } else {
    u32 words[Count * sizeof(typename X::element) / 4];
    load_shared_words<int(Count * sizeof(typename X::element) / 4)>(address, words);
    set_chunk_words<Count>(x, a, b, words);
  }
}

/// Of accumulators with elements of 4 or 8 bytes, each row has eight columns in four threads, and eight rows are a
/// warp: some rows of a swizzled tile that are stored at once have these columns in the same banks. So every other of
/// those rows (`row_bit` of the row's number) stores columns first that lie `bytes` further in the permuted part of the
/// row, and then these. 0: nothing is to be done.
template <tile X, class Tile> struct taking_turns {
  static constexpr int size = sizeof(typename X::element);
  static constexpr bool is_accumulator = X::has_rows && X::layout::run == 2 && X::layout::threads_per_row == 4;
  static constexpr int row_bit = Tile::swizzle == 128 ? 0 : 1;
  static constexpr int distance = Tile::swizzle == 128 && size >= 4 ? 64 : Tile::swizzle == 64 && size == 4 ? 32 : 0;
  static constexpr int slots = distance / size / 4; ///< as so many column slots
  static constexpr bool has_pairs = slots > 0 && X::col_slots % (slots > 0 ? 2 * slots : 1) == 0;
  static constexpr int bytes = is_accumulator && has_pairs ? distance : 0;
};

/// What scratch memory of Rows × Cols elements holds beyond x becomes zero: the transpose of x may stand in registers
/// of more, which then hold no number that nobody wrote.
template <int Rows, int Cols, tile X, class At> __device__ __forceinline__ void zero_beyond(At at) {
  if constexpr (Rows > X::rows || Cols > X::cols)
#pragma unroll 1
    for (int i = rank<typename X::layout>(); i < Rows * Cols; i += X::layout::threads)
      if (i / Cols >= X::rows || i % Cols >= X::cols)
        put_element(at(i / Cols, i % Cols), typename X::element{});
}

/// The same for a tile in which rows follow each other, by 16 bytes where x ends at a multiple of them. Of 64 × 64
/// elements of 16 bits beyond 16 columns, a thread of a warpgroup takes 4 steps, not 32.
template <class Tile, int Rows, int Cols, tile X> __device__ __forceinline__ void zero_beyond(u32 address) {
  constexpr int piece = 16 / int(sizeof(typename X::element)), across = (Cols + piece - 1) / piece;
  if constexpr (Rows <= X::rows && Cols <= X::cols) {
  } else if constexpr (Tile::row_bytes % 16 == 0 && Cols % piece == 0 && X::cols % piece == 0) {
    const u32 zeros[4] = {};
#pragma unroll
    for (int i = rank<typename X::layout>(); i < Rows * across; i += X::layout::threads)
      if (const int r = i / across, c = i % across * piece; r >= X::rows || c >= X::cols)
        store_shared_words<4>(address + Tile::offset(r, c), zeros);
  } else {
    zero_beyond<Rows, Cols, X>([&](int r, int c) { return address + Tile::offset(r, c); });
  }
}

/// slice ← x, from its first row and column on; rows that the slice lacks are padding of x, and not stored.
template <class Tile, int Rows, int Cols, tile X>
__device__ __forceinline__ void store_shared(const shared_slice<Tile, Rows, Cols> &to, const X &x) {
  using T = typename X::element;
  static_assert(same<T, typename Tile::element>, "cast first");
  static_assert(Cols >= X::cols, "the tile does not fit");
  constexpr int rows = Rows < X::rows ? Rows : X::rows;
  if constexpr (moves_by_matrices<X, Tile>) {
    store_by_matrices(to, x);
  } else {
    using turns = taking_turns<X, Tile>;
    constexpr int count = shared_chunk_or_pair<X>();
    static_assert(count * int(sizeof(T)) <= Tile::grain, "the swizzle would divide what is stored at once");
    const int thread = rank<typename X::layout>();
    const bool turned = turns::bytes && X::layout::row(thread, 0) >> turns::row_bit & 1;
    if constexpr (Tile::swizzle == 0)
      zero_beyond<Tile, Rows, Cols, X>(to.address);
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
      for (int b = 0; b < X::col_slots; b += count) {
        const int offset = Tile::offset(X::layout::row(thread, a), X::layout::col(thread, b));
        if (rows != X::rows && X::layout::row(thread, a) >= rows)
          continue;
        if constexpr (turns::bytes)
          put_chunk_of<count>(to.address + (turned ? offset ^ turns::bytes : offset), x, a, b, b ^ turns::slots,
                              turned);
        else
          put_chunk<count>(to.address + offset, x, a, b);
      }
  }
}

/// slice ← x, where the slice is the transpose of what the tile holds: by matrices, else an element at a time.
template <class Tile, int Rows, int Cols, tile X>
__device__ __forceinline__ void store_shared(const shared_slice<Tile, Rows, Cols, true> &to, const X &x) {
  static_assert(same<typename X::element, typename Tile::element>, "cast first");
  static_assert(Cols >= X::cols, "the tile does not fit");
  if constexpr (transposes_by_matrices<X, Tile, Rows>) {
    store_transposed_by_matrices(to, x);
  } else {
    const int thread = rank<typename X::layout>();
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
      for (int b = 0; b < X::col_slots; ++b)
        if (Rows >= X::rows || X::layout::row(thread, a) < Rows)
          put_element(to.address + Tile::offset(X::layout::col(thread, b), X::layout::row(thread, a)), x.at(a, b));
  }
}

/// X ← slice, from its first row and column on.
template <tile X, class Tile, int Rows, int Cols>
__device__ __forceinline__ X load_shared(const shared_slice<Tile, Rows, Cols> &from) {
  using T = typename X::element;
  static_assert(same<T, typename Tile::element>, "cast afterwards");
  static_assert(Rows >= X::rows && Cols >= X::cols, "the tile does not fit");
  X result;
  if constexpr (moves_by_matrices<X, Tile>) {
    load_by_matrices(from, result);
  } else {
    constexpr int count = shared_chunk_or_pair<X>();
    static_assert(count * int(sizeof(T)) <= Tile::grain, "the swizzle has divided what is read at once");
    const int thread = rank<typename X::layout>();
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
      for (int b = 0; b < X::col_slots; b += count)
        get_chunk<count>(from.address + Tile::offset(X::layout::row(thread, a), X::layout::col(thread, b)), result, a,
                         b);
  }
  return result;
}

/// X ← the transpose of what the tile holds, an element at a time.
template <tile X, class Tile, int Rows, int Cols>
__device__ __forceinline__ X load_shared(const shared_slice<Tile, Rows, Cols, true> &from) {
  static_assert(same<typename X::element, typename Tile::element>, "cast afterwards");
  static_assert(Rows >= X::rows && Cols >= X::cols, "the tile does not fit");
  X result;
  const int thread = rank<typename X::layout>();
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b)
      result.set(a, b,
                 *shared_pointer<typename X::element>(
                     from.address + Tile::offset(X::layout::col(thread, b), X::layout::row(thread, a))));
  return result;
}

/// The same for whole tiles.
template <class T, int Rows, int Cols, int Swizzle, int Grain, tile X>
__device__ __forceinline__ void store_shared(shared_tile<T, Rows, Cols, Swizzle, Grain> &to, const X &x) {
  store_shared(to.all(), x);
}
template <tile X, class T, int Rows, int Cols, int Swizzle, int Grain>
__device__ __forceinline__ X load_shared(const shared_tile<T, Rows, Cols, Swizzle, Grain> &from) {
  return load_shared<X>(from.all());
}

/// A column or a row from `X::rows` or `X::cols` consecutive elements; threads that hold the same element all read it.
template <tile X, class T, int Count> __device__ __forceinline__ X load_shared(const shared_vector<T, Count> &from) {
  static_assert(X::has_rows != X::has_cols, "a vector is a column or a row");
  constexpr int count = shared_chunk<X>();
  const int thread = rank<typename X::layout>();
  X result;
#pragma unroll
  for (int i = 0; i < X::size; i += count)
    if constexpr (X::has_rows)
      get_chunk<1>(from.address() + X::layout::row(thread, i) * sizeof(T), result, i, 0);
    else
      get_chunk<count>(from.address() + X::layout::col(thread, i) * sizeof(T), result, 0, i);
  return result;
}
template <class T, int Count, tile X>
__device__ __forceinline__ void store_shared(shared_vector<T, Count> &to, const X &x) {
  static_assert(X::has_rows != X::has_cols, "a vector is a column or a row");
  constexpr int count = shared_chunk<X>();
  const int thread = rank<typename X::layout>();
  zero_beyond<X::has_rows ? Count : 1, X::has_cols ? Count : 1, X>(
      [&](int r, int c) { return to.address() + u32(r + c) * sizeof(T); });
#pragma unroll
  for (int i = 0; i < X::size; i += count)
    if constexpr (X::has_rows)
      put_chunk<1>(to.address() + X::layout::row(thread, i) * sizeof(T), x, i, 0);
    else
      put_chunk<count>(to.address() + X::layout::col(thread, i) * sizeof(T), x, 0, i);
}

} // namespace tk
