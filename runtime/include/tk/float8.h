// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// float8 by integer and f32 arithmetic, for devices without the conversions (before compute capability 8.9): the same
// results, to the bit.
#pragma once

#include "tk/config.h"

namespace tk {

/// A float8 format: a sign, an exponent and `mantissa` bits. `least`: exponent of its smallest normal number.
template <int Mantissa, int Least, int MaxCode> struct float8_format {
  static constexpr int mantissa = Mantissa, least = Least, max_code = MaxCode;
};
using e4m3_format = float8_format<3, -6, 0x7e>;
using e5m2_format = float8_format<2, -14, 0x7b>;

/// 2^exponent, a normal f32.
__host__ __device__ inline float power_of_two(int exponent) {
  return __builtin_bit_cast(float, (exponent + 127) << 23);
}

/// The code of the number of the format that is nearest to a positive f32, of which there are the bits; ties to even,
/// what is too large becomes the largest.
template <class Format> __host__ __device__ inline unsigned nearest_code(unsigned magnitude) {
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const int scale = exponent < Format::least ? Format::least : exponent;
  if (exponent > 20)
    return Format::max_code;
  // In units of the last place, below 2^(mantissa + 1): adding 2^23 rounds to an integer.
  const float units = __builtin_bit_cast(float, magnitude) * power_of_two(Format::mantissa - scale);
  const float rounded = units + 8388608.0f;
  const int code = ((scale - Format::least) << Format::mantissa) +
                   static_cast<int>(__builtin_bit_cast(unsigned, rounded) - 0x4b000000u);
  return static_cast<unsigned>(code < Format::max_code ? code : Format::max_code);
}

/// The nearest float8, ties to even; what is too large becomes the largest finite one, NaN stays NaN.
template <class Format> __host__ __device__ inline unsigned char narrow_to_float8(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x), sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffff;
  return static_cast<unsigned char>(sign | (magnitude > 0x7f800000 ? 0x7f : nearest_code<Format>(magnitude)));
}

template <class Format> __host__ __device__ inline float widen_float8(unsigned char code) {
  const int magnitude = code & 0x7f, exponent = magnitude >> Format::mantissa;
  const int fraction = magnitude & ((1 << Format::mantissa) - 1);
  float value;
  if (Format::mantissa == 3 ? magnitude == 0x7f : magnitude > 0x7c)
    value = __builtin_bit_cast(float, 0x7fc00000);
  else if (Format::mantissa == 2 && magnitude == 0x7c)
    value = __builtin_bit_cast(float, 0x7f800000);
  else if (exponent == 0)
    value = static_cast<float>(fraction) * power_of_two(Format::least - Format::mantissa);
  else
    value = static_cast<float>(fraction | 1 << Format::mantissa) *
            power_of_two(exponent - 1 + Format::least - Format::mantissa);
  return code & 0x80 ? -value : value;
}

} // namespace tk
