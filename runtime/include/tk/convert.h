// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions of one or two elements by the GPU's instructions, on bits: what `types.h` is made of. Each kind of GPU
// has this header of its own.
#pragma once

#include "tk/float8.h"

namespace tk {

/// Two floats, rounded to nearest even, in the low and the high half of a word. PTX ISA, "cvt".
__device__ __forceinline__ unsigned pack2_bf16(float low, float high) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
__device__ __forceinline__ unsigned pack2_half(float low, float high) {
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
__device__ __forceinline__ float widen_half(unsigned short bits) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(bits));
  return result;
}
__device__ __forceinline__ void widen2_half(unsigned pair, float &low, float &high) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}\n"
      : "=f"(low), "=f"(high)
      : "r"(pair));
}

/// Two floats in the low and the high byte, and back; what is too large becomes the largest finite value.
inline constexpr bool has_float8_conversions = compute_capability >= 89;
__device__ __forceinline__ unsigned short pack2_e4m3(float low, float high) {
  if constexpr (has_float8_conversions) {
    unsigned short word;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(word) : "f"(high), "f"(low));
    return word;
  } else {
    return static_cast<unsigned short>(narrow_to_float8<e4m3_format>(low) | narrow_to_float8<e4m3_format>(high) << 8);
  }
}
__device__ __forceinline__ unsigned short pack2_e5m2(float low, float high) {
  if constexpr (has_float8_conversions) {
    unsigned short word;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(word) : "f"(high), "f"(low));
    return word;
  } else {
    return static_cast<unsigned short>(narrow_to_float8<e5m2_format>(low) | narrow_to_float8<e5m2_format>(high) << 8);
  }
}
__device__ __forceinline__ void widen2_e4m3(unsigned short pair, float &low, float &high) {
  if constexpr (has_float8_conversions) {
    unsigned halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
    widen2_half(halves, low, high);
  } else {
    low = widen_float8<e4m3_format>(static_cast<unsigned char>(pair));
    high = widen_float8<e4m3_format>(static_cast<unsigned char>(pair >> 8));
  }
}
__device__ __forceinline__ void widen2_e5m2(unsigned short pair, float &low, float &high) {
  if constexpr (has_float8_conversions) {
    unsigned halves;
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
    widen2_half(halves, low, high);
  } else {
    low = widen_float8<e5m2_format>(static_cast<unsigned char>(pair));
    high = widen_float8<e5m2_format>(static_cast<unsigned char>(pair >> 8));
  }
}

/// The float of byte `Which` of a word. As the low bits of 2²³ a byte is a float, and to subtract what it is too large
/// by is faster than a conversion.
template <int Which, bool Signed> __device__ __forceinline__ float widen_byte(unsigned word) {
  constexpr float two23 = 8388608;
  const unsigned above = Signed ? word ^ 0x80808080u : word; // a signed byte as the unsigned one that is 128 more
  return __uint_as_float(__byte_perm(above, 0x4b000000u, 0x7440 | Which)) - (Signed ? two23 + 128 : two23);
}

/// (word & mask) ^ bits, one instruction; compilers make two of it where both are constants.
__device__ __forceinline__ unsigned masked_xor(unsigned word, unsigned mask, unsigned bits) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(result) : "r"(word), "r"(mask), "r"(bits));
  return result;
}

/// x · y + z of both halves of words, one instruction.
__device__ __forceinline__ unsigned fma2_bf16(unsigned x, unsigned y, unsigned z) {
  unsigned pair;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(pair) : "r"(x), "r"(y), "r"(z));
  return pair;
}
__device__ __forceinline__ unsigned fma2_half(unsigned x, unsigned y, unsigned z) {
  unsigned pair;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(pair) : "r"(x), "r"(y), "r"(z));
  return pair;
}

/// Bytes `at` and `at + 1` of a word as two numbers of 16 bits. A bf16 with a byte as its lower half and 0 as its upper
/// one is 2^-133 of the byte, as the smallest normal numbers go on where the subnormal ones end. It takes two factors,
/// 2^127 and 64, to make the byte of it. A half has room for all eight bits below 1024.
__device__ __forceinline__ unsigned widen_bytes_to_bf16(unsigned word, int at) {
  const unsigned above = word ^ 0x80808080u; // a signed byte as the unsigned one that is 128 more
  const unsigned bytes = __byte_perm(above, 0, unsigned(at | 0x40 | (at + 1) << 8 | 0x4000));
  return fma2_bf16(fma2_bf16(bytes, 0x7f007f00, 0xc000c000), 0x42804280, 0x80008000);
}
template <bool Signed> __device__ __forceinline__ unsigned widen_bytes_to_half(unsigned word, int at) {
  const unsigned above = Signed ? word ^ 0x80808080u : word;
  const unsigned halves = __byte_perm(above, 0x64646464, unsigned(at | 0x40 | (at + 1) << 8 | 0x4000));
  return fma2_half(halves, 0x3c003c00, Signed ? 0xe480e480 : 0xe400e400);
}

/// The float of the `at`-th four bits of a word, by what `widen_byte` does: they stay where they are, and what they
/// make too large is divided by.
template <bool Signed> __device__ __forceinline__ float widen_half_byte(unsigned word, int at) {
  const int moved = at > 4 ? 3 : 0, shift = 4 * (at - moved); // at most 16, within the low bits of 2²³
  const unsigned flip = Signed ? 8u << shift : 0;             // 8 more, and so not negative
  const float two23 = __uint_as_float(unsigned(150 - shift) << 23);
  const float above = __uint_as_float(masked_xor(word >> 4 * moved, 0xfu << shift, 0x4b000000u | flip));
  return ::fmaf(above, __uint_as_float(unsigned(127 - shift) << 23), -(two23 + (Signed ? 8 : 0)));
}

/// Four bits at bit 0 and four at bit 16 as two numbers of 16 bits: the low bits of 128 (bf16), or 1024 (half), which
/// is subtracted.
template <bool Signed> __device__ __forceinline__ unsigned widen_apart_to_bf16(unsigned halves) {
  return fma2_bf16(masked_xor(halves, 0x000f000f, Signed ? 0x43084308 : 0x43004300), 0x3f803f80,
                   Signed ? 0xc308c308 : 0xc300c300);
}
template <bool Signed> __device__ __forceinline__ unsigned widen_apart_to_half(unsigned halves) {
  return fma2_half(masked_xor(halves, 0x000f000f, Signed ? 0x64086408 : 0x64006400), 0x3c003c00,
                   Signed ? 0xe408e408 : 0xe400e400);
}

/// Those of byte `at`, the upper four of which come to bit 16.
__device__ __forceinline__ unsigned spread_byte(unsigned word, int at) {
  return __byte_perm(word, word >> 4, unsigned(at | (4 + at) << 8));
}
template <bool Signed> __device__ __forceinline__ unsigned widen_byte_to_bf16(unsigned word, int at) {
  return widen_apart_to_bf16<Signed>(spread_byte(word, at));
}
template <bool Signed> __device__ __forceinline__ unsigned widen_byte_to_half(unsigned word, int at) {
  return widen_apart_to_half<Signed>(spread_byte(word, at));
}

/// The nearest float with 10 mantissa bits, ties to even; infinities and NaN stay as they are.
__device__ __forceinline__ unsigned round_to_tf32(float x) {
  if constexpr (compute_capability >= 90) {
    unsigned bits;
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
  } else {
    const unsigned bits = __float_as_uint(x), rounded = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
    return (bits & 0x7f800000) == 0x7f800000 ? bits : rounded;
  }
}

__device__ __forceinline__ float narrow_towards_zero(double x) { return __double2float_rz(x); }

/// Towards zero; what does not fit saturates, and NaN gives 0. The instruction makes a NaN of 64 bits the least number.
__device__ __forceinline__ int truncate(float x) {
  int result;
  asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(result) : "f"(x));
  return result;
}
__device__ __forceinline__ int truncate(double x) {
  int result;
  asm("cvt.rzi.s32.f64 %0, %1;" : "=r"(result) : "d"(x));
  return x != x ? 0 : result;
}

} // namespace tk
