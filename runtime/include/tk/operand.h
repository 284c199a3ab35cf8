// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register tiles on their way in and out of the matrix engine: a row or a column becomes a tile of whole slabs and
// back, and padding becomes zero.
#pragma once

#include "tk/fragment.h"
#include "tk/warp.h"

namespace tk {

/// X from a tile, row or column y in the same layout: a row goes to every row, a column to every column; what lies from
/// row `rows` or column `cols` on is zero.
template <tile X, tile Y> __device__ __forceinline__ X spread(const Y &y, int rows, int cols) {
  using L = typename X::layout;
  const int thread = rank<L>();
  X result = zeros<X>();
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b)
      if ((!Y::has_rows || a < Y::row_slots) && (!Y::has_cols || b < Y::col_slots))
        if (L::row(thread, a) < rows && L::col(thread, b) < cols)
          result.set(a, b, y.at(a, b));
  return result;
}

/// The row of a tile whose rows are all the same, or its first Cols columns.
template <int Cols = 0, class T, int M, int N, class L>
__device__ __forceinline__ auto any_row(const fragment<T, M, N, L> &x) {
  static_assert(Cols <= N);
  row<T, (Cols > 0 ? Cols : N), L> result;
#pragma unroll
  for (int b = 0; b < result.col_slots; ++b)
    result.set(0, b, x.at(0, b));
  return result;
}

/// x of the lane that holds the first column of this lane's rows.
template <class L, class T> __device__ __forceinline__ T from_first_of_row(T x) {
  static_assert(L::threads_per_row <= warp_size, "the threads of a row are of one warp");
  return shuffle(x, lane() - lane() / L::lane_step % L::threads_per_row * L::lane_step);
}

/// Column 0 of a tile, to all threads that hold its rows. By whole warps.
template <class T, int M, int N, class L>
__device__ __forceinline__ column<T, M, L> first_column(const fragment<T, M, N, L> &x) {
  column<T, M, L> result;
#pragma unroll
  for (int a = 0; a < result.row_slots; ++a)
    result.set(a, 0, from_first_of_row<L>(x.at(a, 0)));
  return result;
}

/// Element (0, 0) of a tile whose rows are all the same. By whole warps.
template <class T, int M, int N, class L> __device__ __forceinline__ T first_element(const fragment<T, M, N, L> &x) {
  return from_first_of_row<L>(x.at(0, 0));
}

} // namespace tk
