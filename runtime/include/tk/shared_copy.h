// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register tiles to and from shared tiles.
//
// 16-bit tiles in mma_layout and tensor_layout move by stmatrix and ldmatrix, four 8×8 matrices an instruction;
// everything else by runs of consecutive columns. Shared tiles that the copy or matrix engine reads next need
// `fence_proxy_async()` by every storing thread, then a barrier.
#pragma once

#include "tk/fragment.h"
#include "tk/ldmatrix.h"

namespace tk {

__device__ __forceinline__ void store_matrices(u32 address, const u32 *words) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

/// Whether 16×16 blocks of the tile can move by stmatrix and ldmatrix.
template <class X, class Tile>
inline constexpr bool moves_by_matrices =
    is_float16<typename X::element> &&
    (same<typename X::layout, mma_layout> || same<typename X::layout, tensor_layout>) && X::has_rows && X::has_cols &&
    X::cols % 16 == 0 && Tile::swizzle != 0;

/// Calls f(register word, address) for each 16×16 block of a fragment: the address that this lane supplies.
/// `Rows`: of what is there; blocks beyond are left out.
template <class X, class Tile, int Rows = X::rows, class F>
__device__ __forceinline__ void for_each_block(u32 base, F f) {
  static_assert(Rows % 16 == 0, "whole blocks");
  using L = typename X::layout;
  const int thread = rank<L>();
#pragma unroll
  for (int block = 0; block < X::row_slots / 2; ++block) {
    const int first = L::row(thread / 32 * 32, 2 * block);
    if (Rows < X::rows && first >= Rows)
      continue;
#pragma unroll
    for (int c = 0; c < X::cols; c += 16)
      f(block * X::cols / 4 + c / 4, base + Tile::offset(first + thread % 16, c + thread % 32 / 16 * 8));
  }
}

/// One access of Words registers to shared memory.
template <int Words> __device__ __forceinline__ void store_shared_words(u32 address, const u32 *words) {
  if constexpr (Words == 4)
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                 "r"(words[3])
                 : "memory");
  else if constexpr (Words == 2)
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(words[0]), "r"(words[1]) : "memory");
  else
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(words[0]) : "memory");
}
template <int Words> __device__ __forceinline__ void load_shared_words(u32 address, u32 *words) {
  if constexpr (Words == 4)
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
  else if constexpr (Words == 2)
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "r"(address) : "memory");
  else
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(words[0]) : "r"(address) : "memory");
}

/// How many elements of X move at once between registers and a tile: a run, at most 16 bytes, at least 4.
template <class X> __device__ constexpr int shared_chunk() {
  constexpr int size = sizeof(typename X::element);
  constexpr int count = X::layout::run * size > 16 ? 16 / size : X::layout::run;
  return X::has_cols && count * size >= 4 ? count : 1;
}

/// The generic pointer to a shared address.
template <class T> __device__ __forceinline__ T *shared_pointer(u32 address) {
  return static_cast<T *>(__cvta_shared_to_generic(address));
}

/// One element.
template <class T> __device__ __forceinline__ void put_element(u32 address, T value) {
  *shared_pointer<T>(address) = value;
}

/// Moves the `Count` elements from (a, b) on.
template <int Count, tile X> __device__ __forceinline__ void put_chunk(u32 address, const X &x, int a, int b) {
  if constexpr (Count * sizeof(typename X::element) < 4) {
    *shared_pointer<typename X::element>(address) = x.at(a, b);
  } else {
    u32 words[Count * sizeof(typename X::element) / 4];
    chunk_words<Count>(x, a, b, words);
    store_shared_words<int(Count * sizeof(typename X::element) / 4)>(address, words);
  }
}
template <int Count, tile X> __device__ __forceinline__ void get_chunk(u32 address, X &x, int a, int b) {
  if constexpr (Count * sizeof(typename X::element) < 4) {
    x.set(a, b, *shared_pointer<typename X::element>(address));
  } else {
    u32 words[Count * sizeof(typename X::element) / 4];
    load_shared_words<int(Count * sizeof(typename X::element) / 4)>(address, words);
    set_chunk_words<Count>(x, a, b, words);
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
    for_each_block<X, Tile, rows>(to.address, [&](int word, u32 at) { store_matrices(at, x.data.words + word); });
  } else {
    constexpr int count = shared_chunk<X>();
    const int thread = rank<typename X::layout>();
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
      for (int b = 0; b < X::col_slots; b += count)
        if (rows == X::rows || X::layout::row(thread, a) < rows)
          put_chunk<count>(to.address + Tile::offset(X::layout::row(thread, a), X::layout::col(thread, b)), x, a, b);
  }
}

/// slice ← x, where the slice is the transpose of what the tile holds, an element at a time.
template <class Tile, int Rows, int Cols, tile X>
__device__ __forceinline__ void store_shared(const shared_slice<Tile, Rows, Cols, true> &to, const X &x) {
  static_assert(same<typename X::element, typename Tile::element>, "cast first");
  static_assert(Cols >= X::cols, "the tile does not fit");
  const int thread = rank<typename X::layout>();
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b)
      if (Rows >= X::rows || X::layout::row(thread, a) < Rows)
        put_element(to.address + Tile::offset(X::layout::col(thread, b), X::layout::row(thread, a)), x.at(a, b));
}

/// X ← slice, from its first row and column on.
template <tile X, class Tile, int Rows, int Cols>
__device__ __forceinline__ X load_shared(const shared_slice<Tile, Rows, Cols> &from) {
  using T = typename X::element;
  static_assert(same<T, typename Tile::element>, "cast afterwards");
  static_assert(Rows >= X::rows && Cols >= X::cols, "the tile does not fit");
  X result;
  if constexpr (moves_by_matrices<X, Tile>) {
    for_each_block<X, Tile>(from.address, [&](int word, u32 at) { load_matrices(at, result.data.words + word); });
  } else {
    constexpr int count = shared_chunk<X>();
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
template <class T, int Rows, int Cols, int Swizzle, tile X>
__device__ __forceinline__ void store_shared(shared_tile<T, Rows, Cols, Swizzle> &to, const X &x) {
  store_shared(to.all(), x);
}
template <tile X, class T, int Rows, int Cols, int Swizzle>
__device__ __forceinline__ X load_shared(const shared_tile<T, Rows, Cols, Swizzle> &from) {
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
#pragma unroll
  for (int i = 0; i < X::size; i += count)
    if constexpr (X::has_rows)
      put_chunk<1>(to.address() + X::layout::row(thread, i) * sizeof(T), x, i, 0);
    else
      put_chunk<count>(to.address() + X::layout::col(thread, i) * sizeof(T), x, 0, i);
}

} // namespace tk
