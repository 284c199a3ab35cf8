// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar functions on i32 and i64.
#pragma once

#include "tk/types.h"

namespace tk {

__device__ __forceinline__ int abs(int x) { return x < 0 ? -x : x; }
__device__ __forceinline__ i64 abs(i64 x) { return x < 0 ? -x : x; }
template <class T>
  requires(same<T, int> || same<T, i64>)
__device__ __forceinline__ T max(T x, T y) {
  return x > y ? x : y;
}
template <class T>
  requires(same<T, int> || same<T, i64>)
__device__ __forceinline__ T min(T x, T y) {
  return x < y ? x : y;
}
/// Quotient and remainder that floor, as the language's do.
template <class T>
  requires(same<T, int> || same<T, i64>)
__host__ __device__ __forceinline__ constexpr T divide(T x, T y) {
  const T quotient = x / y;
  return (x % y != 0 && (x < 0) != (y < 0)) ? quotient - 1 : quotient;
}
template <class T>
  requires(same<T, int> || same<T, i64>)
__host__ __device__ __forceinline__ constexpr T modulo(T x, T y) {
  const T remainder = x % y;
  return (remainder != 0 && (x < 0) != (y < 0)) ? remainder + y : remainder;
}

} // namespace tk
