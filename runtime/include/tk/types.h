// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage types and their conversions.
//
// A type narrower than 32 bits is storage only: arithmetic is done after `cast<float>`. Conversions round to nearest
// even; those to float8 and what is narrower saturate to the largest finite value (PTX ISA, "cvt"); to f8e8m0 they
// round up.
#pragma once

#include "tk/convert.h"
#include "tk/scale_types.h"
#include "tk/small_integers.h"

namespace tk {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i64 = long long;

struct bf16 {
  u16 bits;
};
struct half {
  u16 bits;
};
struct f8e4m3 {
  u8 bits;
};
struct f8e5m2 {
  u8 bits;
};
/// A float of which the matrix engine reads the upper 19 bits.
struct tf32 {
  u32 bits;
};

/// T, as a parameter that takes whatever converts to it: T follows from other arguments.
template <class T> struct converted_type {
  using type = T;
};
template <class T> using converted = typename converted_type<T>::type;

template <class A, class B> inline constexpr bool same = false;
template <class A> inline constexpr bool same<A, A> = true;

template <class T> struct without_reference {
  using type = T;
};
template <class T> struct without_reference<T &> {
  using type = T;
};
/// T, if it is a reference what it refers to.
template <class T> using plain = typename without_reference<T>::type;

template <class T> inline constexpr bool is_float8 = same<T, f8e4m3> || same<T, f8e5m2>;
template <class T> inline constexpr bool is_float16 = same<T, bf16> || same<T, half>;
template <class T> inline constexpr bool is_integer8 = same<T, i8> || same<T, u8>;
template <class T> inline constexpr bool is_integer4 = same<T, i4> || same<T, u4>;

[[maybe_unused]] static __device__ constexpr float inf = __builtin_huge_valf();
[[maybe_unused]] static __device__ constexpr float nan = __builtin_nanf("");

/// Two floats in the low and the high half of a word.
template <class T> __device__ __forceinline__ u32 pack2(float low, float high) {
  if constexpr (same<T, bf16>)
    return pack2_bf16(low, high);
  else
    return pack2_half(low, high);
}

/// Two floats in the low and the high byte.
template <class T> __device__ __forceinline__ u16 pack2_float8(float low, float high) {
  if constexpr (same<T, f8e4m3>)
    return pack2_e4m3(low, high);
  else
    return pack2_e5m2(low, high);
}

/// A double as a float whose last bit is set where it is inexact, so that a second rounding cannot err.
__device__ __forceinline__ float round_to_odd(double x) {
  const float towards_zero = narrow_towards_zero(x);
  return double(towards_zero) == x || x != x ? towards_zero
                                             : __builtin_bit_cast(float, __builtin_bit_cast(u32, towards_zero) | 1u);
}

/// Towards zero; what does not fit saturates, and NaN gives 0.
template <class T> __device__ __forceinline__ i64 truncate_wide(T x) {
  constexpr i64 most = 0x7fffffffffffffff;
  if (x != x)
    return 0;
  return x >= T(0x1p63) ? most : x < T(-0x1p63) ? -most - 1 : i64(x);
}

/// The double that rounds to f32 and narrower types as `x` itself does: what lies between two of them becomes the one
/// whose last digit is odd.
__device__ __forceinline__ double to_odd_double(i64 x) {
  constexpr i64 spacing = 1 << 11; // of doubles below 2^64
  const bool is_exact = x > -(1ll << 53) && x < 1ll << 53;
  return double(is_exact ? x : (x & -spacing) | ((x & (spacing - 1)) != 0 ? spacing : 0));
}

/// The i32 nearest to `x`.
__device__ __forceinline__ int clamp_to_int(i64 x) {
  constexpr int most = 0x7fffffff;
  return x > most ? most : x < -most - 1 ? -most - 1 : int(x);
}

/// The integer nearest to `x` that a To of 8 or 4 bits holds.
template <class To> __device__ __forceinline__ int clamp(int x) {
  constexpr int low = same<To, i8> ? -128 : same<To, i4> ? -8 : 0, high = low + (is_integer4<To> ? 15 : 255);
  return x < low ? low : x > high ? high : x;
}

template <class To> __device__ __forceinline__ To from_float(float x) {
  if constexpr (same<To, bf16> || same<To, half>) {
    return To{u16(pack2<To>(x, 0.0f))};
  } else if constexpr (is_float8<To>) {
    return To{u8(pack2_float8<To>(x, 0.0f))};
  } else if constexpr (same<To, tf32>) {
    return To{round_to_tf32(x)};
  } else if constexpr (same<To, f8e8m0>) {
    return To{narrow_to_f8e8m0(x)};
  } else if constexpr (same<To, f4e2m1>) {
    return To{narrow_to_f4e2m1(x)};
  } else if constexpr (same<To, f6e2m3>) {
    return To{narrow_to_float6<e2m3_format>(x)};
  } else if constexpr (same<To, f6e3m2>) {
    return To{narrow_to_float6<e3m2_format>(x)};
  } else if constexpr (same<To, bool>) {
    return x != 0.0f;
  } else if constexpr (same<To, i8> || same<To, u8>) {
    return To(clamp<To>(truncate(x)));
  } else if constexpr (is_integer4<To>) {
    return To{u8(clamp<To>(truncate(x)) & 15)};
  } else if constexpr (same<To, int>) {
    return truncate(x);
  } else if constexpr (same<To, i64>) {
    return truncate_wide(x);
  } else {
    return To(x);
  }
}

/// The floats of two packed elements, the first in the low bits.
template <class From> __device__ __forceinline__ void unpack2(u32 pair, float &low, float &high) {
  if constexpr (same<From, bf16>) {
    low = __builtin_bit_cast(float, pair << 16);
    high = __builtin_bit_cast(float, pair & 0xffff0000u);
  } else if constexpr (same<From, half>) {
    widen2_half(pair, low, high);
  } else if constexpr (is_integer8<From>) {
    low = widen_byte<0, same<From, i8>>(pair);
    high = widen_byte<1, same<From, i8>>(pair);
  } else if constexpr (same<From, f8e4m3>) {
    widen2_e4m3(u16(pair), low, high);
  } else {
    widen2_e5m2(u16(pair), low, high);
  }
}

/// Two integers of eight bits, from byte `at` of a word on, as two T of 16 bits.
template <class T, class From> __device__ __forceinline__ u32 widen2_bytes(u32 word, int at) {
  if constexpr (same<T, half>) {
    return widen_bytes_to_half<same<From, i8>>(word, at);
  } else if constexpr (same<From, i8>) {
    return widen_bytes_to_bf16(word, at);
  } else {
    float low, high;
    unpack2<From>(word >> 8 * at, low, high);
    return pack2<T>(low, high);
  }
}

/// Two integers of four bits, byte `at` of a word, as two T of 16 bits.
template <class T, class From> __device__ __forceinline__ u32 widen2_integers(u32 word, int at) {
  if constexpr (same<T, bf16>)
    return widen_byte_to_bf16<same<From, i4>>(word, at);
  else
    return widen_byte_to_half<same<From, i4>>(word, at);
}

/// The same of four bits at bit 0 of a word, and four at bit 16; what else the word has does not count.
template <class T, class From> __device__ __forceinline__ u32 widen2_apart(u32 halves) {
  if constexpr (same<T, bf16>)
    return widen_apart_to_bf16<same<From, i4>>(halves);
  else
    return widen_apart_to_half<same<From, i4>>(halves);
}

template <class From> __device__ __forceinline__ float to_float(From x) {
  if constexpr (same<From, bf16>) {
    return __builtin_bit_cast(float, u32(x.bits) << 16);
  } else if constexpr (same<From, half>) {
    return widen_half(x.bits);
  } else if constexpr (is_float8<From>) {
    float low, high;
    unpack2<From>(x.bits, low, high);
    return low;
  } else if constexpr (same<From, tf32>) {
    return __builtin_bit_cast(float, x.bits);
  } else if constexpr (same<From, f8e8m0>) {
    return widen_f8e8m0(x.bits);
  } else if constexpr (same<From, f4e2m1>) {
    return widen_f4e2m1(x.bits);
  } else if constexpr (same<From, f6e2m3>) {
    return widen_float6<e2m3_format>(x.bits);
  } else if constexpr (same<From, f6e3m2>) {
    return widen_float6<e3m2_format>(x.bits);
  } else if constexpr (is_integer4<From>) {
    return float(widen_integer(x));
  } else {
    return float(x);
  }
}

template <class T>
inline constexpr bool is_storage_float =
    is_float16<T> || is_float8<T> || same<T, tf32> || same<T, f8e8m0> || (packed_element<T> && !is_integer4<T>);

/// `x` as a To, rounded once to nearest even. Towards zero to an integer: what does not fit saturates, NaN gives 0.
template <class To, class From> __device__ __forceinline__ To cast_scalar(From x) {
  if constexpr (same<To, From>)
    return x;
  else if constexpr (is_storage_float<From>)
    return cast_scalar<To>(to_float(x));
  else if constexpr (is_integer4<From> && is_storage_float<To>)
    return from_float<To>(to_float(x));
  else if constexpr (is_integer4<From>)
    return cast_scalar<To>(widen_integer(x));
  else if constexpr (is_storage_float<To> && is_integer8<From>)
    return from_float<To>(float(x));
  else if constexpr (is_storage_float<To> && same<From, i64>)
    return from_float<To>(round_to_odd(to_odd_double(x)));
  else if constexpr (is_storage_float<To> && !same<From, float>)
    return from_float<To>(round_to_odd(double(x)));
  else if constexpr (same<From, float>)
    return from_float<To>(x);
  else if constexpr (same<To, bool>)
    return x != From(0);
  else if constexpr (same<To, i8> || same<To, u8>)
    return To(clamp<To>(cast_scalar<int>(x)));
  else if constexpr (is_integer4<To>)
    return To{u8(clamp<To>(cast_scalar<int>(x)) & 15)};
  else if constexpr (same<To, int> && same<From, i64>)
    return clamp_to_int(x);
  else if constexpr (same<To, int> && same<From, double>)
    return truncate(x);
  else if constexpr (same<To, i64> && same<From, double>)
    return truncate_wide(x);
  else
    return To(x);
}

/// A CUtensorMap: made by the host, read by the copy engine.
struct alignas(64) tensor_map {
  u64 opaque[16];
};

} // namespace tk
