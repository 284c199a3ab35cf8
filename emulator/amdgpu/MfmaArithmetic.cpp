// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/amdgpu/MfmaArithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tkc::emulator {

uint32_t bitsOf(MfmaType type) {
  switch (type) {
  case MfmaType::F64:
    return 64;
  case MfmaType::F32:
  case MfmaType::XF32:
    return 32;
  case MfmaType::F16:
  case MfmaType::BF16:
    return 16;
  case MfmaType::I8:
  case MfmaType::F8:
  case MfmaType::BF8:
    return 8;
  case MfmaType::F6:
  case MfmaType::BF6:
    return 6;
  case MfmaType::F4:
    return 4;
  }
  return 0;
}

namespace {

enum class Specials : uint8_t { Ieee, NanOnly, Fnuz, None };

struct Format {
  int exponentBits, mantissaBits, bias;
  Specials specials;
};

Format formatOf(MfmaType type, Cdna gpu) {
  const bool isFnuz = gpu != Cdna::Cdna4;
  switch (type) {
  case MfmaType::F16:
    return {5, 10, 15, Specials::Ieee};
  case MfmaType::BF16:
    return {8, 7, 127, Specials::Ieee};
  case MfmaType::F8:
    return isFnuz ? Format{4, 3, 8, Specials::Fnuz} : Format{4, 3, 7, Specials::NanOnly};
  case MfmaType::BF8:
    return isFnuz ? Format{5, 2, 16, Specials::Fnuz} : Format{5, 2, 15, Specials::Ieee};
  case MfmaType::F6:
    return {2, 3, 1, Specials::None};
  case MfmaType::BF6:
    return {3, 2, 3, Specials::None};
  case MfmaType::F4:
    return {2, 1, 1, Specials::None};
  case MfmaType::F64:
  case MfmaType::F32:
  case MfmaType::XF32:
  case MfmaType::I8:
    break;
  }
  return {8, 23, 127, Specials::Ieee};
}

bool isNan(const Format &format, uint32_t exponent, uint32_t mantissa, bool negative) {
  const uint32_t top = (1u << format.exponentBits) - 1, all = (1u << format.mantissaBits) - 1;
  switch (format.specials) {
  case Specials::Ieee:
    return exponent == top && mantissa != 0;
  case Specials::NanOnly:
    return exponent == top && mantissa == all;
  case Specials::Fnuz:
    return negative && exponent == 0 && mantissa == 0;
  case Specials::None:
    return false;
  }
  return false;
}

} // namespace

MfmaFactor decodeMfmaFactor(MfmaType type, uint32_t bits, Cdna gpu) {
  if (type == MfmaType::I8)
    return {static_cast<int8_t>(bits), 0, 0, static_cast<float>(static_cast<int8_t>(bits)), true};
  if (type == MfmaType::XF32)
    bits &= 0xffffe000u;
  if (type == MfmaType::F32 || type == MfmaType::F64)
    return {.value = std::bit_cast<float>(bits)}; // chains of sums need no more
  const Format format = formatOf(type, gpu);
  const uint32_t exponent = bits >> format.mantissaBits & ((1u << format.exponentBits) - 1);
  const uint32_t mantissa = bits & ((1u << format.mantissaBits) - 1);
  const bool negative = bits >> (format.exponentBits + format.mantissaBits) & 1;
  const float sign = negative ? -1.0f : 1.0f;
  MfmaFactor factor;
  if (exponent == 0 && gpu == Cdna::Cdna2) // its 16-bit products know no denormals
    return factor;
  if (isNan(format, exponent, mantissa, negative)) {
    factor.value = NAN;
    factor.isFinite = false;
  } else if (format.specials == Specials::Ieee && exponent == (1u << format.exponentBits) - 1) {
    factor.value = sign * INFINITY;
    factor.isFinite = false;
  } else {
    factor.highest = std::max(static_cast<int>(exponent), 1) - format.bias;
    factor.exponent = factor.highest - format.mantissaBits;
    factor.mantissa = static_cast<int32_t>(exponent ? mantissa | 1u << format.mantissaBits : mantissa);
    if (negative)
      factor.mantissa = -factor.mantissa;
    factor.value = negative && factor.mantissa == 0
                       ? -0.0f
                       : static_cast<float>(std::ldexp(static_cast<double>(factor.mantissa), factor.exponent));
  }
  return factor;
}

MfmaSummation mfmaSummation(MfmaType type, bool isOldBf16, uint32_t depth, Cdna gpu) {
  using Kind = MfmaSummation::Kind;
  switch (type) {
  case MfmaType::F64:
  case MfmaType::F32:
  case MfmaType::I8:
    return {Kind::Chain, 1};
  case MfmaType::XF32:
    return {Kind::Fused, 4};
  case MfmaType::F16:
  case MfmaType::BF16:
    if (gpu == Cdna::Cdna2)
      return {Kind::Pairwise, isOldBf16 ? 2u : 4u, true};
    return {Kind::Fused, std::min(depth, 8u)};
  case MfmaType::F8:
  case MfmaType::BF8:
  case MfmaType::F6:
  case MfmaType::BF6:
  case MfmaType::F4:
    return {Kind::FusedHalves, 16};
  }
  return {Kind::Chain, 1};
}

namespace {

constexpr int fractionBits = 24;    ///< kept below the largest exponent of the terms
constexpr int sumFractionBits = 31; ///< of their sum, when the accumulator joins it
constexpr int exponentOfZero = -999;

float flushed(float x, bool flushes) { return flushes && std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

int64_t shiftedTowardsZero(int64_t x, int by) {
  if (by >= 0)
    return x << std::min(by, 62);
  return by < -62 ? 0 : x < 0 ? -(-x >> -by) : x >> -by;
}

int64_t shiftedDown(int64_t x, int by) {
  if (by >= 0)
    return x << std::min(by, 62);
  return by < -62 ? (x < 0 ? -1 : 0) : x >> -by;
}

/// Terms cut off below the largest exponent and added: sum · 2^(exponent - fractionBits).
struct Partial {
  int64_t sum = 0;
  int exponent = exponentOfZero;
};

struct Term {
  int64_t mantissa;
  int exponent, highest;
};

Partial addUp(const Term *terms, uint32_t count, uint32_t stride) {
  Partial partial;
  for (uint32_t i = 0; i < count; i += stride)
    if (terms[i].mantissa != 0)
      partial.exponent = std::max(partial.exponent, terms[i].highest);
  for (uint32_t i = 0; i < count; i += stride)
    if (terms[i].mantissa != 0)
      partial.sum += shiftedTowardsZero(terms[i].mantissa, terms[i].exponent - partial.exponent + fractionBits);
  return partial;
}

/// The two halves, and the accumulator, are aligned by cutting off downwards; the result is rounded to nearest.
float addAccumulator(Partial partial, float accumulator, bool dropsSmall) {
  const uint32_t bits = std::bit_cast<uint32_t>(accumulator);
  const auto field = static_cast<int>(bits >> 23 & 0xff);
  int64_t own = (bits & 0x7fffff) | (field ? 0x800000 : 0);
  const int ownExponent = own ? std::max(field, 1) - 127 : exponentOfZero;
  if (bits >> 31)
    own = -own;
  const int highest = std::max(partial.exponent, ownExponent);
  if (highest == exponentOfZero)
    return 0;
  int64_t sum = shiftedDown(partial.sum, sumFractionBits - fractionBits + partial.exponent - highest);
  if (!dropsSmall || ownExponent >= highest - 25)
    sum += shiftedDown(own, 1 + ownExponent - highest) << (sumFractionBits - fractionBits);
  return static_cast<float>(std::ldexp(static_cast<double>(sum), highest - sumFractionBits));
}

float fusedSum(const Term *terms, uint32_t count, float accumulator, bool inHalves) {
  if (!inHalves)
    return addAccumulator(addUp(terms, count, 1), accumulator, false);
  const Partial even = addUp(terms, count, 2), odd = addUp(terms + 1, count - 1, 2);
  Partial both;
  both.exponent = std::max(even.exponent, odd.exponent);
  both.sum = shiftedDown(even.sum, even.exponent - both.exponent) + shiftedDown(odd.sum, odd.exponent - both.exponent);
  return addAccumulator(both, accumulator, true);
}

/// By doubles, where something is or may become infinite or no number.
float sumOfSpecials(const MfmaFactor *a, const MfmaFactor *b, uint32_t count, float accumulator, int scale) {
  double sum = accumulator;
  for (uint32_t i = 0; i < count; ++i) {
    const double product = std::ldexp(static_cast<double>(a[i].value) * b[i].value, scale);
    sum += std::fabs(product) >= 0x1p128 ? std::copysign(INFINITY, product) : product;
  }
  return static_cast<float>(sum);
}

float pairwise(const MfmaFactor *a, const MfmaFactor *b, uint32_t count, bool flushes) {
  if (count == 1)
    return flushed(a->value * b->value, flushes);
  const uint32_t half = count / 2;
  return flushed(pairwise(a, b, half, flushes) + pairwise(a + half, b + half, count - half, flushes), flushes);
}

} // namespace

float mfmaSum(const MfmaFactor *a, const MfmaFactor *b, uint32_t count, float accumulator,
              const MfmaSummation &summation, const int32_t *scale) {
  using Kind = MfmaSummation::Kind;
  if (summation.kind == Kind::Chain) {
    for (uint32_t i = 0; i < count; ++i)
      accumulator = std::fma(a[i].value, b[i].value, accumulator);
    return accumulator;
  }
  if (summation.kind == Kind::Pairwise) {
    accumulator = flushed(accumulator, summation.flushes);
    for (uint32_t i = 0; i < count; i += summation.group)
      accumulator =
          flushed(accumulator + pairwise(a + i, b + i, std::min(summation.group, count - i), summation.flushes),
                  summation.flushes);
    return accumulator;
  }
  for (uint32_t begin = 0; begin < count; begin += summation.group) {
    const uint32_t number = std::min(summation.group, count - begin);
    const int by = scale ? scale[begin / 32] : 0;
    Term terms[16];
    bool isSpecial = !std::isfinite(accumulator);
    for (uint32_t i = 0; i < number; ++i) {
      const MfmaFactor &x = a[begin + i], &y = b[begin + i];
      terms[i] = {int64_t(x.mantissa) * y.mantissa, x.exponent + y.exponent + by, x.highest + y.highest + by};
      isSpecial |= !x.isFinite || !y.isFinite || terms[i].highest >= 126;
    }
    accumulator = isSpecial ? sumOfSpecials(a + begin, b + begin, number, accumulator, by)
                            : fusedSum(terms, number, accumulator, summation.kind == Kind::FusedHalves);
  }
  return accumulator;
}

} // namespace tkc::emulator
