// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bits of the narrow floating-point types. Rounding is support/Rounding.h's.
#pragma once

#include "support/Rounding.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tkc::emulator {

/// How a format of at most 16 bits is stored.
struct NarrowFormat {
  const FloatFormat &rounding;
  int exponentBits;
  bool hasInfinity; ///< otherwise the top exponent holds numbers, and NaN has all bits set
  uint32_t nan;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  int mantissaBits() const { return rounding.mantissaBits; }
  uint32_t sign() const { return 1u << (exponentBits + mantissaBits()); }
};

inline constexpr NarrowFormat f16{f16Format, 5, true, 0x7fff};
inline constexpr NarrowFormat bf16{bf16Format, 8, true, 0x7fff};
inline constexpr NarrowFormat f8e4m3{f8e4m3Format, 4, false, 0x7f};
inline constexpr NarrowFormat f8e5m2{f8e5m2Format, 5, true, 0x7f};

inline double decode(const NarrowFormat &format, uint32_t bits) {
  const int mantissaBits = format.mantissaBits();
  const uint32_t magnitude = bits & (format.sign() - 1), top = (1u << format.exponentBits) - 1;
  const uint32_t exponent = magnitude >> mantissaBits, mantissa = magnitude & ((1u << mantissaBits) - 1);
  const double sign = bits & format.sign() ? -1 : 1;
  if (format.hasInfinity ? exponent == top && mantissa != 0 : magnitude == format.nan)
    return NAN;
  if (format.hasInfinity && exponent == top)
    return sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(static_cast<double>(mantissa), 1 - format.bias() - mantissaBits);
  return sign * std::ldexp(1 + std::ldexp(static_cast<double>(mantissa), -mantissaBits),
                           static_cast<int>(exponent) - format.bias());
}

/// `value` rounded to nearest even. Infinities and overflow as `format.rounding` says.
inline uint32_t encode(const NarrowFormat &format, double value) {
  if (std::isnan(value))
    return format.nan;
  const double rounded = roundToFormat(format.rounding, value);
  const uint32_t sign = std::signbit(rounded) ? format.sign() : 0;
  const double magnitude = std::fabs(rounded);
  const int mantissaBits = format.mantissaBits();
  if (std::isinf(magnitude))
    return sign | ((1u << format.exponentBits) - 1) << mantissaBits;
  const int exponent = magnitude == 0 ? -9999 : std::ilogb(magnitude);
  if (exponent < 1 - format.bias())
    return sign | static_cast<uint32_t>(std::ldexp(magnitude, format.bias() - 1 + mantissaBits));
  return sign | static_cast<uint32_t>(exponent + format.bias()) << mantissaBits |
         static_cast<uint32_t>(std::ldexp(std::ldexp(magnitude, -exponent) - 1, mantissaBits));
}

/// A float as the matrix engine reads a tf32: its upper 19 bits.
inline float truncateToTf32(float x) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xffffe000u); }

} // namespace tkc::emulator
