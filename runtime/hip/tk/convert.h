// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions of one or two elements, on bits: what `types.h` is made of. The compiler picks the instructions that the
// GPU has; float8 is the OCP one, which most of these GPUs lack, by integer arithmetic.
#pragma once

#include "tk/float8.h"

namespace tk {

/// Two floats, rounded to nearest even, in the low and the high half of a word.
__device__ __forceinline__ unsigned pack2_bf16(float low, float high) {
  return unsigned(__builtin_bit_cast(unsigned short, static_cast<__bf16>(low))) |
         unsigned(__builtin_bit_cast(unsigned short, static_cast<__bf16>(high))) << 16;
}
__device__ __forceinline__ unsigned pack2_half(float low, float high) {
  return unsigned(__builtin_bit_cast(unsigned short, static_cast<_Float16>(low))) |
         unsigned(__builtin_bit_cast(unsigned short, static_cast<_Float16>(high))) << 16;
}
__device__ __forceinline__ float widen_half(unsigned short bits) {
  return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}
__device__ __forceinline__ void widen2_half(unsigned pair, float &low, float &high) {
  low = widen_half(static_cast<unsigned short>(pair));
  high = widen_half(static_cast<unsigned short>(pair >> 16));
}

/// Two floats in the low and the high byte, and back; what is too large becomes the largest finite value.
__device__ __forceinline__ unsigned short pack2_e4m3(float low, float high) {
  return static_cast<unsigned short>(narrow_to_float8<e4m3_format>(low) | narrow_to_float8<e4m3_format>(high) << 8);
}
__device__ __forceinline__ unsigned short pack2_e5m2(float low, float high) {
  return static_cast<unsigned short>(narrow_to_float8<e5m2_format>(low) | narrow_to_float8<e5m2_format>(high) << 8);
}
__device__ __forceinline__ void widen2_e4m3(unsigned short pair, float &low, float &high) {
  low = widen_float8<e4m3_format>(static_cast<unsigned char>(pair));
  high = widen_float8<e4m3_format>(static_cast<unsigned char>(pair >> 8));
}
__device__ __forceinline__ void widen2_e5m2(unsigned short pair, float &low, float &high) {
  low = widen_float8<e5m2_format>(static_cast<unsigned char>(pair));
  high = widen_float8<e5m2_format>(static_cast<unsigned char>(pair >> 8));
}

/// The float of byte `Which` of a word, for which there is an instruction.
template <int Which, bool Signed> __device__ __forceinline__ float widen_byte(unsigned word) {
  const auto byte = static_cast<unsigned char>(word >> 8 * Which);
  return Signed ? static_cast<float>(static_cast<signed char>(byte)) : static_cast<float>(byte);
}

/// Bytes `at` and `at + 1` of a word as two numbers of 16 bits.
__device__ __forceinline__ unsigned widen_bytes_to_bf16(unsigned word, int at) {
  return pack2_bf16(widen_byte<0, true>(word >> 8 * at), widen_byte<1, true>(word >> 8 * at));
}
template <bool Signed> __device__ __forceinline__ unsigned widen_bytes_to_half(unsigned word, int at) {
  return pack2_half(widen_byte<0, Signed>(word >> 8 * at), widen_byte<1, Signed>(word >> 8 * at));
}

/// The float of the `at`-th four bits of a word, and those of byte `at` as two numbers of 16 bits.
template <bool Signed> __device__ __forceinline__ float widen_half_byte(unsigned word, int at) {
  const unsigned bits = word >> 4 * at & 15;
  return Signed ? static_cast<float>(static_cast<int>(bits ^ 8) - 8) : static_cast<float>(bits);
}
template <bool Signed> __device__ __forceinline__ unsigned widen_byte_to_bf16(unsigned word, int at) {
  return pack2_bf16(widen_half_byte<Signed>(word, 2 * at), widen_half_byte<Signed>(word, 2 * at + 1));
}
template <bool Signed> __device__ __forceinline__ unsigned widen_byte_to_half(unsigned word, int at) {
  return pack2_half(widen_half_byte<Signed>(word, 2 * at), widen_half_byte<Signed>(word, 2 * at + 1));
}

/// Four bits at bit 0 and four at bit 16 as two numbers of 16 bits.
template <bool Signed> __device__ __forceinline__ unsigned widen_apart_to_bf16(unsigned halves) {
  return pack2_bf16(widen_half_byte<Signed>(halves, 0), widen_half_byte<Signed>(halves, 4));
}
template <bool Signed> __device__ __forceinline__ unsigned widen_apart_to_half(unsigned halves) {
  return pack2_half(widen_half_byte<Signed>(halves, 0), widen_half_byte<Signed>(halves, 4));
}

/// The nearest float with 10 mantissa bits, ties to even; infinities and NaN stay as they are.
__device__ __forceinline__ unsigned round_to_tf32(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x), rounded = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
  return (bits & 0x7f800000) == 0x7f800000 ? bits : rounded;
}

/// What `x` exceeds by is cut off.
__device__ __forceinline__ float narrow_towards_zero(double x) {
  const float nearest = static_cast<float>(x);
  const bool too_far = __builtin_fabs(static_cast<double>(nearest)) > __builtin_fabs(x);
  return too_far ? __builtin_bit_cast(float, __builtin_bit_cast(unsigned, nearest) - 1) : nearest;
}

/// Towards zero; what does not fit saturates, and NaN gives 0, as the instructions do.
__device__ __forceinline__ int truncate(float x) {
  int result;
  asm("v_cvt_i32_f32 %0, %1" : "=v"(result) : "v"(x));
  return result;
}
__device__ __forceinline__ int truncate(double x) {
  int result;
  asm("v_cvt_i32_f64 %0, %1" : "=v"(result) : "v"(x));
  return result;
}

} // namespace tk
