// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores of register tiles to shared memory in loops that leave few registers.
#pragma once

#include "tk/shared_copy.h"

namespace tk {

/// store_shared of an accumulator, whose addresses take one register from call to call: an element's lies as far from
/// the thread's first as it does in the first thread, whole panels and rows by addition, and what is within a panel's
/// row by exclusive or, which goes through the permutation. Left to the compiler each address is a register, or memory.
template <class Tile, int Rows, int Cols, tile X>
__device__ __forceinline__ void store_shared_late(const shared_slice<Tile, Rows, Cols> &to, const X &x) {
  using turns = taking_turns<X, Tile>;
  if constexpr (moves_by_matrices<X, Tile> || turns::bytes == 0 || Rows < X::rows) {
    store_shared(to, x);
  } else {
    static_assert(Cols >= X::cols, "the tile does not fit");
    constexpr int count = shared_chunk<X>();
    const int thread = rank<typename X::layout>();
    const int row = X::layout::row(thread, 0);
    const bool turned = row >> turns::row_bit & 1;
    const u32 first =
        computed_here(to.address + (Tile::offset(row, X::layout::col(thread, 0)) ^ (turned ? turns::bytes : 0)));
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
      for (int b = 0; b < X::col_slots; b += count) {
        const int apart = Tile::linear_offset(X::layout::row(0, a), X::layout::col(0, b));
        const int within = apart % Tile::row_bytes;
        put_chunk_of<count>((first ^ within) + (apart - within), x, a, b, b ^ turns::slots, turned);
      }
  }
}
template <class T, int Rows, int Cols, int Swizzle, int Grain, tile X>
__device__ __forceinline__ void store_shared_late(shared_tile<T, Rows, Cols, Swizzle, Grain> &to, const X &x) {
  store_shared_late(to.all(), x);
}

} // namespace tk
