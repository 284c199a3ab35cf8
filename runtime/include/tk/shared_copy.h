// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register tiles to and from shared tiles.
//
// 16-bit tiles in mma_layout move by stmatrix and ldmatrix, four 8×8 matrices an instruction; everything else by runs
// of consecutive columns. Shared tiles that the copy or matrix engine reads next need `fence_proxy_async()` by every
// storing thread, then a barrier.
#pragma once

#include "tk/fragment.h"
#include "tk/shared.h"

namespace tk {

__device__ __forceinline__ void store_matrices(u32 address, const u32 *words) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}
__device__ __forceinline__ void load_matrices(u32 address, u32 *words) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

/// Whether 16×16 blocks of the tile can move by stmatrix and ldmatrix.
template <class X, class Tile>
inline constexpr bool moves_by_matrices = is_float16<typename X::element> && same<typename X::layout, mma_layout> &&
                                          X::has_rows && X::has_cols && X::cols % 16 == 0 && Tile::swizzle != 0;

/// Calls f(register word, address) for each 16×16 block of a fragment: the address that this lane supplies.
template <class X, class Tile, class F> __device__ __forceinline__ void for_each_block(u32 base, F f) {
  const int thread = rank<mma_layout>();
  const int r = thread / 32 * 16 + thread % 16;
#pragma unroll
  for (int slab = 0; slab < X::rows / 64; ++slab)
#pragma unroll
    for (int c = 0; c < X::cols; c += 16)
      f(slab * X::cols / 4 + c / 4, base + Tile::offset(slab * 64 + r, c + thread % 32 / 16 * 8));
}

/// Element (r, c) of a tile whose first row lies at `address`.
template <class Tile> __device__ __forceinline__ typename Tile::element *shared_element(u32 address, int r, int c) {
  return static_cast<typename Tile::element *>(__cvta_shared_to_generic(address + Tile::offset(r, c)));
}

/// slice ← x, from its first row and column on.
template <class Tile, int Rows, int Cols, tile X>
__device__ __forceinline__ void store_shared(const shared_slice<Tile, Rows, Cols> &to, const X &x) {
  using T = typename X::element;
  static_assert(same<T, typename Tile::element>, "cast first");
  static_assert(Rows >= X::rows && Cols >= X::cols, "the tile does not fit");
  if constexpr (moves_by_matrices<X, Tile>) {
    for_each_block<X, Tile>(to.address, [&](int word, u32 at) { store_matrices(at, x.data.words + word); });
  } else {
    const int thread = rank<typename X::layout>();
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
      for (int b = 0; b < X::col_slots; ++b)
        *shared_element<Tile>(to.address, X::layout::row(thread, a), X::layout::col(thread, b)) = x.at(a, b);
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
    for_each_block<X, Tile>(from.address, [&](int word, u32 at) { load_matrices(at, result.data.words + word); });
  } else {
    const int thread = rank<typename X::layout>();
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
      for (int b = 0; b < X::col_slots; ++b)
        result.set(a, b, *shared_element<Tile>(from.address, X::layout::row(thread, a), X::layout::col(thread, b)));
  }
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
  const int thread = rank<typename X::layout>();
  X result;
#pragma unroll
  for (int i = 0; i < X::size; ++i)
    result.data.set(i, from.elements[X::has_rows ? X::layout::row(thread, i) : X::layout::col(thread, i)]);
  return result;
}
template <class T, int Count, tile X>
__device__ __forceinline__ void store_shared(shared_vector<T, Count> &to, const X &x) {
  static_assert(X::has_rows != X::has_cols, "a vector is a column or a row");
  const int thread = rank<typename X::layout>();
#pragma unroll
  for (int i = 0; i < X::size; ++i)
    to.elements[X::has_rows ? X::layout::row(thread, i) : X::layout::col(thread, i)] = x.data.get(i);
}

} // namespace tk
