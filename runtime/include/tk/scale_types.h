// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types of block-scaled products, by integer arithmetic: f8e8m0, a power of two, and f4e2m1, of which memory holds
// two in a byte. A register holds one in its low bits.
#pragma once

#include "tk/config.h"

namespace tk {

/// 2^(bits − 127); 255 is NaN.
struct f8e8m0 {
  unsigned char bits;
};
/// A sign, two bits of exponent, one of mantissa: ±{0, 0.5, 1, 1.5, 2, 3, 4, 6}.
struct f4e2m1 {
  unsigned char bits;
};

__host__ __device__ inline float widen_f8e8m0(unsigned code) {
  return __builtin_bit_cast(float, code == 255 ? 0x7fc00000u : code == 0 ? 0x00400000u : code << 23);
}

/// The smallest power of two that is not below x; 2^-127 for what is less, 2^127 at most (as cvt.rp.satfinite does).
__host__ __device__ inline unsigned char narrow_to_f8e8m0(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  if (x != x)
    return 255;
  if (bits >> 31 || bits <= 0x00400000) // up to 2^-127, which is no normal f32
    return 0;
  const unsigned code = (bits + 0x007fffff) >> 23;
  return static_cast<unsigned char>(code > 254 ? 254 : code);
}

__host__ __device__ inline float widen_f4e2m1(unsigned code) {
  const unsigned magnitude = code & 7, sign = (code & 8) << 28;
  const unsigned value = magnitude < 2 ? magnitude * 0x3f000000u : (126u << 23) + (magnitude << 22);
  return __builtin_bit_cast(float, sign | value);
}

/// The nearest f4e2m1, ties to even; ±6 for what is more, and 6 for NaN.
__host__ __device__ inline unsigned char narrow_to_f4e2m1(float x) {
  if (x != x)
    return 7;
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  const float size = __builtin_bit_cast(float, bits & 0x7fffffffu);
  const int code = (size > 0.25f) + (size >= 0.75f) + (size > 1.25f) + (size >= 1.75f) + (size > 2.5f) +
                   (size >= 3.5f) + (size > 5.0f);
  return static_cast<unsigned char>(bits >> 28 & 8 | static_cast<unsigned>(code));
}

/// Where an f4e2m1 lies in memory: like a pointer, in elements. Byte is `unsigned char`, or that `const`.
template <class Byte> struct packed_pointer {
  Byte *bytes;
  long long at;

  __device__ __forceinline__ packed_pointer operator+(long long by) const { return {bytes, at + by}; }
  __device__ __forceinline__ packed_pointer &operator+=(long long by) {
    at += by;
    return *this;
  }
  /// The byte of an even element and the one after it.
  __device__ __forceinline__ Byte *byte() const { return bytes + (at >> 1); }
  __device__ __forceinline__ f4e2m1 operator*() const {
    return {static_cast<unsigned char>(*byte() >> (at & 1) * 4 & 15)};
  }
  __device__ __forceinline__ f4e2m1 operator[](long long i) const { return *(*this + i); }
};

/// T *, or what stands for it where elements share bytes.
template <class T> struct pointer_to {
  using type = T *;
};
template <> struct pointer_to<f4e2m1> {
  using type = packed_pointer<unsigned char>;
};
template <> struct pointer_to<const f4e2m1> {
  using type = packed_pointer<const unsigned char>;
};
template <class T> using pointer = typename pointer_to<T>::type;

} // namespace tk
