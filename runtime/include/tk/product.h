// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products by ordinary arithmetic, for the types that the matrix engine lacks: f32, f64, on some GPUs i8.
#pragma once

#include "tk/fragment.h"
#include "tk/math.h"
#include "tk/shared_copy.h"

namespace tk {

/// Element (r, c) of an operand as a T.
template <class T, class Tile, int Rows, int Cols, bool Transposed>
__device__ __forceinline__ T operand_element(const shared_slice<Tile, Rows, Cols, Transposed> &operand, int r, int c) {
  const int offset = Transposed ? Tile::offset(c, r) : Tile::offset(r, c);
  return cast_scalar<T>(*shared_pointer<const typename Tile::element>(operand.address + offset));
}

/// a · b + c: of floats rounded once, of integers exact (8-bit types where the matrix engine lacks them).
template <class T> __device__ __forceinline__ T multiply_add(T a, T b, T c) {
  if constexpr (same<T, int>)
    return a * b + c;
  else
    return fma(a, b, c);
}

/// acc[M, N] += a[M, K] · b[K, N], operands in shared memory, stored either way; `accumulate` false: acc = a · b. Each
/// thread makes the elements that it holds, in the order of k; the writers of a and b have synchronised.
template <class T, int M, int N, class L, class A, class B>
__device__ __forceinline__ void mma_by_threads(fragment<T, M, N, L> &acc, const A &a, const B &b,
                                               bool accumulate = true) {
  using Acc = fragment<T, M, N, L>;
  static_assert(A::rows == M && B::cols == N && A::cols == B::rows, "shapes of a product");
  const int thread = rank<L>();
  if (!accumulate)
    acc = zeros<Acc>();
#pragma unroll 1
  for (int k = 0; k < A::cols; ++k) {
    T left[Acc::row_slots];
#pragma unroll
    for (int r = 0; r < Acc::row_slots; ++r)
      left[r] = operand_element<T>(a, L::row(thread, r), k);
#pragma unroll
    for (int c = 0; c < Acc::col_slots; ++c) {
      const T right = operand_element<T>(b, k, L::col(thread, c));
#pragma unroll
      for (int r = 0; r < Acc::row_slots; ++r)
        acc.set(r, c, multiply_add(left[r], right, acc.at(r, c)));
    }
  }
}

} // namespace tk
