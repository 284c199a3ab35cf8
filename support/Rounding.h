// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounding of a double to a narrower binary format, written so that a loop over it vectorises.
#pragma once

#include "support/ElemType.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tkc {

/// What rounding needs to know of a binary floating-point format.
struct FloatFormat {
  int mantissaBits; ///< explicit ones
  int minExponent;  ///< of the smallest normal number
  double max;       ///< largest finite number
  bool saturates;   ///< overflow and infinity give ±max instead of ±inf
};

inline constexpr FloatFormat f32Format{23, -126, 0x1.fffffep127, false};
inline constexpr FloatFormat tf32Format{10, -126, 0x1.ffcp127, false};
inline constexpr FloatFormat f16Format{10, -14, 65504, false};
inline constexpr FloatFormat bf16Format{7, -126, 0x1.fep127, false};
inline constexpr FloatFormat f8e4m3Format{3, -6, 448, true};
inline constexpr FloatFormat f8e5m2Format{2, -14, 57344, true};
inline constexpr FloatFormat f6e2m3Format{3, 0, 7.5, true};
inline constexpr FloatFormat f6e3m2Format{2, -2, 28, true};
inline constexpr FloatFormat f4e2m1Format{1, 0, 6, true};
inline constexpr FloatFormat f8e8m0Format{0, -127, 0x1p127, true};

/// `value` to the nearest number of `format`, ties to even. Adding and subtracting 1.5·2^52 quanta leaves the addition
/// itself to round at the quantum.
inline double roundToFormat(const FloatFormat &format, double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
  if (exponent > 1000) // infinite, NaN, or far beyond every format
    return std::isnan(value) ? value : std::copysign(format.saturates ? format.max : INFINITY, value);
  const int quantum = (exponent > format.minExponent ? exponent : format.minExponent) - format.mantissaBits;
  const double magic = std::bit_cast<double>((static_cast<uint64_t>(quantum + 52 + 1023) << 52) | (1ull << 51));
  const double rounded = std::copysign(std::fabs((std::fabs(value) + magic) - magic), value);
  if (std::fabs(rounded) > format.max)
    return std::copysign(format.saturates ? format.max : INFINITY, value);
  return rounded;
}

/// Of a format that has no NaN, f6e2m3, f6e3m2 or f4e2m1: what is none becomes the largest number, as by the hardware's
/// conversion (PTX ISA, "cvt", .satfinite).
inline double roundToFinite(const FloatFormat &format, double value) {
  return std::isnan(value) ? format.max : roundToFormat(format, value);
}

/// f8e8m0, powers of two from 2^-127 to 2^127: the smallest that is not below `value`, which is not negative; a scale
/// that was rounded down would saturate what it scales (PTX ISA, "cvt.rp.satfinite.ue8m0x2"). NaN stays NaN.
inline double roundToF8E8M0(double value) {
  if (std::isnan(value))
    return value;
  if (!(value > 0x1p-127))
    return 0x1p-127;
  if (value > 0x1p126)
    return 0x1p127;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent); // in [0.5, 1)
  return std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}

/// Toward zero and saturating; NaN gives 0.
inline double truncateTo(double low, double high, double value) {
  if (std::isnan(value))
    return 0;
  const double truncated = std::trunc(value);
  return truncated < low ? low : truncated > high ? high : truncated;
}

/// Half the distance from 1 to the next number of `elem`: the largest relative error of a rounding. 0 for integers.
double unitRoundoff(ElemType elem);
/// The smallest normal number of `elem`; below it errors are absolute. 0 for integers.
double smallestNormal(ElemType elem);

} // namespace tkc
