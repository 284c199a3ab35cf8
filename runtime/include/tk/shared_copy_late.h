// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores of register tiles to shared memory in loops that leave few registers.
#pragma once

#include "tk/shared_copy.h"

namespace tk {

/// store_shared, whose addresses are computed each time: left to the compiler they are computed before the loop, and
/// take a register each, or memory, all through it.
template <class Tile, int Rows, int Cols, tile X>
__device__ __forceinline__ void store_shared_late(const shared_slice<Tile, Rows, Cols> &to, const X &x) {
  using turns = taking_turns<X, Tile>;
  if constexpr (moves_by_matrices<X, Tile> || turns::bytes == 0 || Rows < X::rows) {
    store_shared(to, x);
  } else {
    constexpr int count = shared_chunk<X>();
    const int thread = computed_here(rank<typename X::layout>());
    const bool turned = X::layout::row(thread, 0) >> turns::row_bit & 1;
#pragma unroll
    for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
      for (int b = 0; b < X::col_slots; b += count) {
        const int offset = Tile::offset(X::layout::row(thread, a), X::layout::col(thread, b));
        put_chunk_of<count>(to.address + (turned ? offset ^ turns::bytes : offset), x, a, b, b ^ turns::slots, turned);
      }
  }
}
template <class T, int Rows, int Cols, int Swizzle, int Grain, tile X>
__device__ __forceinline__ void store_shared_late(shared_tile<T, Rows, Cols, Swizzle, Grain> &to, const X &x) {
  store_shared_late(to.all(), x);
}

} // namespace tk
