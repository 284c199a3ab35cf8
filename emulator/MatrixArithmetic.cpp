// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/MatrixArithmetic.h"

#include "emulator/Formats.h"

#include <algorithm>
#include <cmath>

namespace tkc::emulator {

uint32_t bytesOf(MatrixType type) {
  switch (type) {
  case MatrixType::BF16:
  case MatrixType::F16:
    return 2;
  case MatrixType::TF32:
    return 4;
  case MatrixType::F8E4M3:
  case MatrixType::F8E5M2:
  case MatrixType::F6E2M3:
  case MatrixType::F6E3M2:
  case MatrixType::F4E2M1:
  case MatrixType::I8:
  case MatrixType::U8:
    return 1;
  }
  return 0;
}

static Factor fromDouble(double value, int mantissaBits) {
  Factor factor;
  factor.value = static_cast<float>(value);
  if (value == 0 || !std::isfinite(value))
    return factor;
  factor.exponent = std::ilogb(value) - mantissaBits;
  factor.mantissa = static_cast<int32_t>(std::ldexp(value, -factor.exponent));
  return factor;
}

/// A sign, an exponent and a mantissa of so many bits, of which all are numbers.
static Factor finiteFactor(uint32_t bits, int exponentBits, int mantissaBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const auto exponent = static_cast<int>(bits >> mantissaBits & ((1u << exponentBits) - 1));
  const auto mantissa = static_cast<int>(bits & ((1u << mantissaBits) - 1)) | (exponent ? 1 << mantissaBits : 0);
  Factor factor;
  factor.exponent = std::max(exponent, 1) - bias - mantissaBits;
  factor.mantissa = bits >> (exponentBits + mantissaBits) & 1 ? -mantissa : mantissa;
  factor.value = static_cast<float>(std::ldexp(factor.mantissa, factor.exponent));
  return factor;
}

Factor decodeFactor(MatrixType type, uint32_t bits) {
  switch (type) {
  case MatrixType::BF16:
    return fromDouble(decode(bf16, bits), 7);
  case MatrixType::F16:
    return fromDouble(decode(f16, bits), 10);
  case MatrixType::TF32:
    return fromDouble(truncateToTf32(std::bit_cast<float>(bits)), 10);
  case MatrixType::F8E4M3:
    return fromDouble(decode(f8e4m3, bits), 3);
  case MatrixType::F8E5M2:
    return fromDouble(decode(f8e5m2, bits), 2);
  case MatrixType::F6E2M3:
    return finiteFactor(bits, 2, 3);
  case MatrixType::F6E3M2:
    return finiteFactor(bits, 3, 2);
  case MatrixType::F4E2M1:
    return finiteFactor(bits, 2, 1);
  case MatrixType::I8:
    return {static_cast<int8_t>(bits), 0, 0};
  case MatrixType::U8:
    return {static_cast<uint8_t>(bits), 0, 0};
  }
  return {};
}

namespace {

constexpr int none = -100000; // exponent of zero

/// `mantissa · 2^exponent` in units of 2^unit, cut off.
int64_t align(int64_t mantissa, int exponent, int unit) {
  const int shift = exponent - unit;
  if (shift >= 0)
    return mantissa << std::min(shift, 62);
  return shift < -62 ? 0 : mantissa < 0 ? -(-mantissa >> -shift) : mantissa >> -shift;
}

float truncateToFloat(int64_t sum, int unit) {
  if (sum == 0)
    return 0;
  const uint64_t magnitude = sum < 0 ? 0 - static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
  const int length = 64 - std::countl_zero(magnitude);
  const int lowest = std::max(unit + length - 24, -149); // of the result's last bit
  const uint64_t kept = lowest > unit ? magnitude >> std::min(lowest - unit, 63) : magnitude;
  const double value = std::ldexp(static_cast<double>(kept), std::max(lowest, unit));
  return static_cast<float>(sum < 0 ? -value : value);
}

float sumAtOnce(const Factor *a, const Factor *b, uint32_t count, float accumulator, int fractionBits) {
  const uint32_t bits = std::bit_cast<uint32_t>(accumulator);
  const int exponentField = static_cast<int>(bits >> 23 & 0xff);
  const int64_t ownMantissa = (bits & 0x7fffff) | (exponentField ? 0x800000 : 0);
  const int ownExponent = std::max(exponentField, 1) - 150;
  int highest = ownMantissa ? ownExponent + 23 : none;
  int64_t products[64];
  int exponents[64];
  for (uint32_t i = 0; i < count; ++i) {
    products[i] = int64_t(a[i].mantissa) * b[i].mantissa;
    exponents[i] = a[i].exponent + b[i].exponent;
    // Of a product the exponent is the sum of its factors', whether or not its mantissa reached 2.
    if (products[i])
      highest =
          std::max(highest, exponents[i] + (31 - std::countl_zero(static_cast<uint32_t>(std::abs(a[i].mantissa)))) +
                                (31 - std::countl_zero(static_cast<uint32_t>(std::abs(b[i].mantissa)))));
  }
  if (highest == none)
    return 0;
  const int unit = highest - fractionBits;
  int64_t sum = align(bits >> 31 ? -ownMantissa : ownMantissa, ownExponent, unit);
  for (uint32_t i = 0; i < count; ++i)
    sum += products[i] ? align(products[i], exponents[i], unit) : 0;
  return truncateToFloat(sum, unit);
}

} // namespace

static bool isFloat8(MatrixType type) { return type == MatrixType::F8E4M3 || type == MatrixType::F8E5M2; }

Summation wgmmaSummation(MatrixType type) { return {isFloat8(type) ? 13 : 25, 32}; }

Summation tensorSummation() { return {25, 64}; }

Summation mmaSummation(MatrixType type, int architecture) {
  if (architecture < 90) // Ampere sums 16 bytes of either operand at once
    return {isFloat8(type) ? 13 : 24, static_cast<int>(16 / bytesOf(type))};
  return {25, 32}; // of float8 not to the last bit
}

float sumOfProducts(const Factor *a, const Factor *b, uint32_t count, float accumulator, const Summation &summation) {
  bool finite = std::isfinite(accumulator);
  for (uint32_t i = 0; i < count; ++i)
    finite = finite && std::isfinite(a[i].value) && std::isfinite(b[i].value);
  if (!finite) {
    double sum = accumulator;
    for (uint32_t i = 0; i < count; ++i)
      sum += static_cast<double>(a[i].value) * b[i].value;
    return static_cast<float>(sum);
  }
  const auto step = static_cast<uint32_t>(summation.termsAtOnce);
  for (uint32_t i = 0; i < count; i += step)
    accumulator = sumAtOnce(a + i, b + i, std::min(step, count - i), accumulator, summation.fractionBits);
  return accumulator;
}

} // namespace tkc::emulator
