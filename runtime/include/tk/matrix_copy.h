// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register tiles to and from shared tiles by instructions that move whole matrices: 16-bit tiles in mma_layout and
// tensor_layout by stmatrix and ldmatrix, four 8×8 matrices an instruction. Each kind of GPU has this header of its
// own.
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

__device__ __forceinline__ void store_matrices_transposed(u32 address, const u32 *words) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

/// Whether `Rows` rows of it can go to memory that holds its transpose.
template <class X, class Tile, int Rows>
inline constexpr bool transposes_by_matrices = moves_by_matrices<X, Tile> && (Rows >= X::rows || Rows % 16 == 0);

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

/// slice ← x; rows that the slice lacks are padding of x, and not stored.
template <class Tile, int Rows, int Cols, class X>
__device__ __forceinline__ void store_by_matrices(const shared_slice<Tile, Rows, Cols> &to, const X &x) {
  constexpr int rows = Rows < X::rows ? Rows : X::rows;
  for_each_block<X, Tile, rows>(to.address, [&](int word, u32 at) { store_matrices(at, x.data.words + word); });
}
/// slice ← x, where the slice is the transpose of what the tile holds.
template <class Tile, int Rows, int Cols, class X>
__device__ __forceinline__ void store_transposed_by_matrices(const shared_slice<Tile, Rows, Cols, true> &to,
                                                             const X &x) {
  using L = typename X::layout;
  const int thread = rank<L>();
  const int across = thread % 8 + thread % 32 / 16 * 8,
            along = thread / 8 % 2 * 8; // of the matrix that the lane serves
#pragma unroll
  for (int block = 0; block < X::row_slots / 2; ++block) {
    const int first = L::row(thread / 32 * 32, 2 * block);
    if (Rows < X::rows && first >= Rows)
      continue;
#pragma unroll
    for (int c = 0; c < X::cols; c += 16)
      store_matrices_transposed(to.address + Tile::offset(c + across, first + along),
                                x.data.words + block * X::cols / 4 + c / 4);
  }
}
template <class Tile, int Rows, int Cols, class X>
__device__ __forceinline__ void load_by_matrices(const shared_slice<Tile, Rows, Cols> &from, X &x) {
  for_each_block<X, Tile>(from.address, [&](int word, u32 at) { load_matrices(at, x.data.words + word); });
}

} // namespace tk
