// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of packed operands, and of block scales, from global to shared memory through registers.
#pragma once

#include "tk/packed.h"
#include "tk/register_copy.h"

namespace tk {

/// A thread's share of a tile of scales, whose rows are short: single bytes, number `thread`, `thread` + Threads and so
/// on, counted along the rows or, with DownFirst, down the columns.
template <class T, int Rows, int Cols, int Threads, bool DownFirst = false> struct scale_share {
  static constexpr int each = (Rows * Cols + Threads - 1) / Threads;
  T elements[each];

  /// Calls f(i, row, column) for each element.
  template <class F> __device__ __forceinline__ static void for_each_element(int thread, F f) {
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int at = thread + i * Threads;
      if (Rows * Cols % Threads == 0 || at < Rows * Cols)
        f(i, DownFirst ? at % Rows : at / Cols, DownFirst ? at / Rows : at % Cols);
    }
  }

  /// ← the view; what lies outside is zero.
  template <int Align> __device__ __forceinline__ void fetch(const view<const T, Align> &from, int thread) {
    const buffer_view<T> buffer(from);
    for_each_element(thread, [&](int i, int r, int c) { elements[i] = buffer.load_element(r, c); });
  }

  template <class Tile> __device__ __forceinline__ void place(Tile &to, int thread) const {
    static_assert(same<typename Tile::element, T> && Tile::rows == Rows && Tile::cols == Cols);
    for_each_element(thread, [&](int i, int r, int c) { *to.at(r, c) = elements[i]; });
  }
};

/// share ← the view of packed elements, by 16 bytes where all rows are aligned so.
template <class Share, class T, int Align>
__device__ __forceinline__ void fetch_pairs(Share &to, const view<const T, Align> &packed, int thread) {
  const auto from = pairs(packed);
  const u64 places = u64(from.base) | u64(from.row_stride) | u64(from.col_begin) | u64(from.col_end);
  to.fetch(places % 16 == 0,
           view<const typename pair_of<T>::type, 16>{from.base, from.row_stride, from.row_end, from.col_end, 1,
                                                     from.row_begin, from.col_begin},
           thread);
}

} // namespace tk
