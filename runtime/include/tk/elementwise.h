// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise operators and functions on register tiles: one line each over `map`.
#pragma once

#include "tk/fragment.h"
#include "tk/in_place.h"
#include "tk/masks.h"
#include "tk/math.h"

namespace tk {

template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator+(const X &x, const Y &y) {
  return map([](auto a, auto b) { return a + b; }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator-(const X &x, const Y &y) {
  return map([](auto a, auto b) { return a - b; }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator*(const X &x, const Y &y) {
  return map([](auto a, auto b) { return a * b; }, x, y);
}
/// On integers that may be too large for their type.
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto wrapping_add(const X &x, const Y &y) {
  return map([](auto a, auto b) { return wrapping_add(a, decltype(a)(b)); }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto wrapping_sub(const X &x, const Y &y) {
  return map([](auto a, auto b) { return wrapping_sub(a, decltype(a)(b)); }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto wrapping_mul(const X &x, const Y &y) {
  return map([](auto a, auto b) { return wrapping_mul(a, decltype(a)(b)); }, x, y);
}
template <tile X> __device__ __forceinline__ auto negate(const X &x) {
  return map([](auto a) { return negate(a); }, x);
}
/// Whether many elements have one divisor: a fragment by a column, a row by a number. Its reciprocal then costs each a
/// multiplication.
template <class X, class Y>
inline constexpr bool divides_rows = requires {
  requires X::has_cols && X::col_slots >= 8;
  requires same<typename X::element, float> && same<typename shape_of<Y>::element, float>;
  requires !shape_of<Y>::has_cols;
  requires(shape_of<Y>::has_rows || !X::has_rows);
};

/// On integers: rounds down.
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator/(const X &x, const Y &y) {
  if constexpr (divides_rows<X, Y>) {
    if constexpr (tile<Y>)
      return x * map([](float b) { return divide(1.0f, b); }, y);
    else
      return x * divide(1.0f, y);
  } else {
    return map([](auto a, auto b) { return divide(a, decltype(a)(b)); }, x, y);
  }
}
/// Of numbers, as tk/math.h has them.
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto divide_rn(const X &x, const Y &y) {
  return map([](auto a, auto b) { return divide_rn(a, b); }, x, y);
}
template <tile X> __device__ __forceinline__ auto rcp_rn(const X &x) {
  return map([](auto a) { return rcp_rn(a); }, x);
}
template <tile X> __device__ __forceinline__ auto sqrt_rn(const X &x) {
  return map([](auto a) { return sqrt_rn(a); }, x);
}
template <tile X> __device__ __forceinline__ auto rsqrt_rn(const X &x) {
  return map([](auto a) { return rsqrt_rn(a); }, x);
}
/// Integers; of the divisor's sign.
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator%(const X &x, const Y &y) {
  return map([](auto a, auto b) { return modulo(a, decltype(a)(b)); }, x, y);
}
/// Integers of which something is known (tk/integer_math.h).
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto divide_positive(const X &x, const Y &y) {
  return map([](auto a, auto b) { return divide_positive(a, decltype(a)(b)); }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto modulo_positive(const X &x, const Y &y) {
  return map([](auto a, auto b) { return modulo_positive(a, decltype(a)(b)); }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto divide_natural(const X &x, const Y &y) {
  return map([](auto a, auto b) { return divide_natural(a, decltype(a)(b)); }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto modulo_natural(const X &x, const Y &y) {
  return map([](auto a, auto b) { return modulo_natural(a, decltype(a)(b)); }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator&(const X &x, const Y &y) {
  return map([](auto a, auto b) { return decltype(a)(a & b); }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator|(const X &x, const Y &y) {
  return map([](auto a, auto b) { return decltype(a)(a | b); }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator^(const X &x, const Y &y) {
  return map([](auto a, auto b) { return decltype(a)(a ^ b); }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator<<(const X &x, const Y &y) {
  return map([](auto a, auto b) { return shift_left(a, decltype(a)(b)); }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator>>(const X &x, const Y &y) {
  return map([](auto a, auto b) { return shift_right(a, decltype(a)(b)); }, x, y);
}

template <class F, class X, class Y> __device__ __forceinline__ auto compare(F f, const X &x, const Y &y) {
  using result = decltype(map(f, x, y));
  if constexpr (result::has_rows && result::has_cols)
    begin_masks();
  return map(f, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator==(const X &x, const Y &y) {
  return compare([](auto a, auto b) { return a == b; }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator!=(const X &x, const Y &y) {
  return compare([](auto a, auto b) { return a != b; }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator<(const X &x, const Y &y) {
  return compare([](auto a, auto b) { return a < b; }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator<=(const X &x, const Y &y) {
  return compare([](auto a, auto b) { return a <= b; }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator>(const X &x, const Y &y) {
  return compare([](auto a, auto b) { return a > b; }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator>=(const X &x, const Y &y) {
  return compare([](auto a, auto b) { return a >= b; }, x, y);
}
/// Both sides are evaluated.
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator&&(const X &x, const Y &y) {
  return map([](bool a, bool b) { return a && b; }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto operator||(const X &x, const Y &y) {
  return map([](bool a, bool b) { return a || b; }, x, y);
}

template <tile X> __device__ __forceinline__ auto operator-(const X &x) {
  return map([](auto a) { return -a; }, x);
}
template <tile X> __device__ __forceinline__ auto operator~(const X &x) {
  return map([](auto a) { return ~a; }, x);
}
template <tile X> __device__ __forceinline__ auto operator!(const X &x) {
  return map([](bool a) { return !a; }, x);
}

template <tile X, class Y> __device__ __forceinline__ X &operator+=(X &x, const Y &y) { return x = x + y; }
template <tile X, class Y> __device__ __forceinline__ X &operator-=(X &x, const Y &y) { return x = x - y; }
template <tile X, class Y> __device__ __forceinline__ X &operator*=(X &x, const Y &y) { return x = x * y; }
template <tile X, class Y> __device__ __forceinline__ X &operator/=(X &x, const Y &y) { return x = x / y; }

template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto max(const X &x, const Y &y) {
  return map([](auto a, auto b) { return max(a, decltype(a)(b)); }, x, y);
}
template <class X, class Y>
  requires some_tile<X, Y>
__device__ __forceinline__ auto min(const X &x, const Y &y) {
  return map([](auto a, auto b) { return min(a, decltype(a)(b)); }, x, y);
}
/// x · y + z, rounded once.
template <class X, class Y, class Z>
  requires some_tile<X, Y, Z>
__device__ __forceinline__ auto fma(const X &x, const Y &y, const Z &z) {
  return map([](auto a, auto b, auto c) { return fma(a, b, c); }, x, y, z);
}
/// x where the condition holds, else y; what is not selected may be infinite or NaN.
template <class C, class X, class Y>
  requires some_tile<C, X, Y>
__device__ __forceinline__ auto where(const C &condition, const X &x, const Y &y) {
  const auto result = map([](bool c, auto a, auto b) { return c ? a : decltype(a)(b); }, condition, x, y);
  if constexpr (shape_of<C>::has_rows && shape_of<C>::has_cols)
    end_masks();
  return result;
}
template <class T> __device__ __forceinline__ T where(bool condition, T x, T y) { return condition ? x : y; }

template <tile X> __device__ __forceinline__ auto abs(const X &x) {
  return map([](auto a) { return abs(a); }, x);
}
template <tile X> __device__ __forceinline__ auto exp(const X &x) {
  return map([](auto a) { return exp(a); }, x);
}
template <tile X> __device__ __forceinline__ auto exp2(const X &x) {
  return map([](auto a) { return exp2(a); }, x);
}
template <tile X> __device__ __forceinline__ auto log(const X &x) {
  return map([](auto a) { return log(a); }, x);
}
template <tile X> __device__ __forceinline__ auto log2(const X &x) {
  return map([](auto a) { return log2(a); }, x);
}
template <tile X> __device__ __forceinline__ auto sqrt(const X &x) {
  return map([](auto a) { return sqrt(a); }, x);
}
template <tile X> __device__ __forceinline__ auto rsqrt(const X &x) {
  return map([](auto a) { return rsqrt(a); }, x);
}
template <tile X> __device__ __forceinline__ auto rcp(const X &x) {
  return map([](auto a) { return rcp(a); }, x);
}
template <tile X> __device__ __forceinline__ auto tanh(const X &x) {
  return map([](auto a) { return tanh(a); }, x);
}
template <tile X> __device__ __forceinline__ auto sin(const X &x) {
  return map([](auto a) { return sin(a); }, x);
}
template <tile X> __device__ __forceinline__ auto cos(const X &x) {
  return map([](auto a) { return cos(a); }, x);
}
template <tile X> __device__ __forceinline__ auto erf(const X &x) {
  return map([](auto a) { return erf(a); }, x);
}
template <tile X> __device__ __forceinline__ auto one_plus_erf(const X &x) {
  return map([](auto a) { return one_plus_erf(a); }, x);
}
template <tile X> __device__ __forceinline__ auto sigmoid(const X &x) {
  return map([](auto a) { return sigmoid(a); }, x);
}
template <tile X> __device__ __forceinline__ auto floor(const X &x) {
  return map([](auto a) { return floor(a); }, x);
}

} // namespace tk
