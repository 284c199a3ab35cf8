// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar functions on i32 and i64.
#pragma once

#include "tk/negate.h"
#include "tk/types.h"

namespace tk {

__device__ __forceinline__ int abs(int x) { return x < 0 ? int(0u - u32(x)) : x; }
__device__ __forceinline__ i64 abs(i64 x) { return x < 0 ? i64(0ull - u64(x)) : x; }
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
/// Integers wrap, as the language's do. C++ takes for granted that signed ones never overflow, and would fold
/// `x + 1 > x`.
__device__ __forceinline__ int wrapping_add(int x, int y) { return int(u32(x) + u32(y)); }
__device__ __forceinline__ i64 wrapping_add(i64 x, i64 y) { return i64(u64(x) + u64(y)); }
__device__ __forceinline__ int wrapping_sub(int x, int y) { return int(u32(x) - u32(y)); }
__device__ __forceinline__ i64 wrapping_sub(i64 x, i64 y) { return i64(u64(x) - u64(y)); }
__device__ __forceinline__ i64 negate(i64 x) { return wrapping_sub(i64(0), x); }
__device__ __forceinline__ int wrapping_mul(int x, int y) { return int(u32(x) * u32(y)); }
__device__ __forceinline__ i64 wrapping_mul(i64 x, i64 y) { return i64(u64(x) * u64(y)); }
/// Quotient and remainder that floor, as the language's do. Divisors of 0 give 0, and the least number by -1 is itself:
/// C++ has no meaning for these. A known divisor takes no test.
template <class T>
  requires(same<T, int> || same<T, i64>)
__host__ __device__ __forceinline__ constexpr T divide(T x, T y) {
  if (y == 0)
    return 0;
  if (y == -1)
    return T(u64(0) - u64(x));
  const T quotient = x / y;
  return (x % y != 0 && (x < 0) != (y < 0)) ? quotient - 1 : quotient;
}
template <class T>
  requires(same<T, int> || same<T, i64>)
__host__ __device__ __forceinline__ constexpr T modulo(T x, T y) {
  if (y == 0 || y == -1)
    return 0;
  const T remainder = x % y;
  return (remainder != 0 && (x < 0) != (y < 0)) ? remainder + y : remainder;
}
/// The same of a divisor that is at least 1.
template <class T>
  requires(same<T, int> || same<T, i64>)
__host__ __device__ __forceinline__ constexpr T divide_positive(T x, T y) {
  const T quotient = x / y;
  return x - quotient * y < 0 ? quotient - 1 : quotient;
}
template <class T>
  requires(same<T, int> || same<T, i64>)
__host__ __device__ __forceinline__ constexpr T modulo_positive(T x, T y) {
  const T remainder = x % y;
  return remainder < 0 ? remainder + y : remainder;
}
/// And of a dividend that is at least 0: without signs, division takes fewer instructions.
__host__ __device__ __forceinline__ constexpr int divide_natural(int x, int y) { return int(u32(x) / u32(y)); }
__host__ __device__ __forceinline__ constexpr i64 divide_natural(i64 x, i64 y) { return i64(u64(x) / u64(y)); }
__host__ __device__ __forceinline__ constexpr int modulo_natural(int x, int y) { return int(u32(x) % u32(y)); }
__host__ __device__ __forceinline__ constexpr i64 modulo_natural(i64 x, i64 y) { return i64(u64(x) % u64(y)); }
/// Shifts by less than 0 or more than the last bit's number give 0, or -1 for a negative number shifted right.
__device__ __forceinline__ int shift_left(int x, int by) { return u32(by) > 31 ? 0 : int(u32(x) << by); }
__device__ __forceinline__ int shift_right(int x, int by) { return x >> (u32(by) > 31 ? 31 : by); }
__device__ __forceinline__ i64 shift_left(i64 x, i64 by) { return u64(by) > 63 ? 0 : i64(u64(x) << by); }
__device__ __forceinline__ i64 shift_right(i64 x, i64 by) { return x >> (u64(by) > 63 ? 63 : by); }

} // namespace tk
