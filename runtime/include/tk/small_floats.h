// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats of less than a byte (OCP Microscaling Formats 1.0), whose numbers are all finite, by integer and f32
// arithmetic. A register holds one in its low bits; memory holds them without gaps, in groups that fill whole bytes,
// the first in the lowest bits.
#pragma once

#include "tk/float8.h"

namespace tk {

/// A sign, two bits of exponent, one of mantissa: ±{0, 0.5, 1, 1.5, 2, 3, 4, 6}.
struct f4e2m1 {
  unsigned char bits;
};
/// A sign, two bits of exponent, three of mantissa: up to ±7.5, eighths below 2.
struct f6e2m3 {
  unsigned char bits;
};
/// A sign, three bits of exponent, two of mantissa: up to ±28, sixteenths below 0.5.
struct f6e3m2 {
  unsigned char bits;
};

/// How the elements of T lie in memory: so many fill so many bytes.
template <class T> struct packing;
template <> struct packing<f4e2m1> {
  static constexpr int bits = 4, elements = 2, bytes = 1;
};
template <> struct packing<f6e2m3> {
  static constexpr int bits = 6, elements = 4, bytes = 3;
};
template <> struct packing<f6e3m2> : packing<f6e2m3> {};
template <class T>
  requires requires { packing<T>::bits; }
struct packing<const T> : packing<T> {};
template <class T>
concept packed_element = requires { packing<T>::bits; };

/// The bits of element `i` of those that lie one after another in words.
template <int Bits> __device__ __forceinline__ unsigned bits_at(const unsigned *words, int i) {
  const int word = i * Bits / 32, shift = i * Bits % 32;
  unsigned bits = words[word] >> shift;
  if (shift + Bits > 32)
    bits |= words[word + 1] << (32 - shift);
  return bits & ((1u << Bits) - 1);
}
/// Puts them there, where zeros are.
template <int Bits> __device__ __forceinline__ void put_bits(unsigned *words, int i, unsigned bits) {
  const int word = i * Bits / 32, shift = i * Bits % 32;
  words[word] |= bits << shift;
  if (shift + Bits > 32)
    words[word + 1] |= bits >> (32 - shift);
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
  return static_cast<unsigned char>((bits >> 28 & 8) | static_cast<unsigned>(code));
}

/// A format of six bits; Least: the exponent of its smallest normal number.
template <int Mantissa, int Least> struct float6_format {
  static constexpr int mantissa = Mantissa, least = Least, max_code = 31;
};
using e2m3_format = float6_format<3, 0>;
using e3m2_format = float6_format<2, -2>;

template <class Format> __host__ __device__ inline float widen_float6(unsigned code) {
  const unsigned magnitude = code & 31, exponent = magnitude >> Format::mantissa;
  const unsigned implied = 1u << Format::mantissa, fraction = magnitude & (implied - 1);
  // In units of the least number, below 2^9, added to a number of which they are the last bits.
  const unsigned units = exponent == 0 ? fraction : (fraction | implied) << (exponent - 1);
  const unsigned base = static_cast<unsigned>(23 + Format::least - Format::mantissa + 127) << 23;
  const float value = __builtin_bit_cast(float, base | units) - __builtin_bit_cast(float, base);
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, value) | (code & 32) << 26);
}

/// The nearest number of the format, ties to even; the largest for what is more, and for NaN.
template <class Format> __host__ __device__ inline unsigned char narrow_to_float6(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x), sign = bits >> 26 & 32;
  return static_cast<unsigned char>(x != x ? Format::max_code : sign | nearest_code<Format>(bits & 0x7fffffff));
}

/// Where a packed T lies in memory: like a pointer, in elements. Byte is `unsigned char`, or that `const`.
template <class T, class Byte> struct packed_pointer {
  using layout = packing<T>;
  Byte *bytes;
  long long at;

  __device__ __forceinline__ packed_pointer operator+(long long by) const { return {bytes, at + by}; }
  __device__ __forceinline__ packed_pointer &operator+=(long long by) {
    at += by;
    return *this;
  }
  /// The bytes of the group that begins here.
  __device__ __forceinline__ Byte *group() const {
    static_assert(layout::elements == 2 || layout::elements == 4);
    return bytes + (at >> (layout::elements == 4 ? 2 : 1)) * layout::bytes;
  }
  __device__ __forceinline__ T operator*() const {
    const int bit = int(at & (layout::elements - 1)) * layout::bits;
    const Byte *from = group() + bit / 8;
    unsigned raw = from[0];
    if constexpr (8 % layout::bits != 0)
      if (bit % 8 + layout::bits > 8)
        raw |= unsigned(from[1]) << 8;
    return {static_cast<unsigned char>(raw >> bit % 8 & ((1u << layout::bits) - 1))};
  }
  __device__ __forceinline__ T operator[](long long i) const { return *(*this + i); }
};

/// T *, or what stands for it where elements share bytes.
template <class T> struct pointer_to {
  using type = T *;
};
template <packed_element T> struct pointer_to<T> {
  using type = packed_pointer<T, unsigned char>;
};
template <packed_element T> struct pointer_to<const T> {
  using type = packed_pointer<T, const unsigned char>;
};
template <class T> using pointer = typename pointer_to<T>::type;

} // namespace tk
