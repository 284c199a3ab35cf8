// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Rounding.h"
#include "support/Tensor.h"

#include <gtest/gtest.h>
#include <vector>

using namespace tkc;

namespace {

/// Every non-negative finite number of a format, ascending.
std::vector<double> numbersOf(const FloatFormat &format) {
  std::vector<double> numbers;
  const int steps = 1 << format.mantissaBits;
  for (int m = 0; m < steps; ++m)
    numbers.push_back(std::ldexp(m, format.minExponent - format.mantissaBits));
  for (int e = format.minExponent; numbers.back() < format.max; ++e)
    for (int m = 0; m < steps && numbers.back() < format.max; ++m)
      numbers.push_back(std::ldexp(1 + std::ldexp(m, -format.mantissaBits), e));
  return numbers;
}

void expectNearestEven(const FloatFormat &format) {
  const std::vector<double> numbers = numbersOf(format);
  ASSERT_EQ(numbers.back(), format.max);
  for (size_t i = 0; i + 1 < numbers.size(); ++i) {
    const double low = numbers[i], high = numbers[i + 1], middle = (low + high) / 2;
    ASSERT_EQ(roundToFormat(format, low), low);
    ASSERT_EQ(roundToFormat(format, std::nextafter(middle, 0)), low);
    ASSERT_EQ(roundToFormat(format, middle), i % 2 == 0 ? low : high);
    ASSERT_EQ(roundToFormat(format, -std::nextafter(middle, high)), -high);
  }
}

TEST(Rounding, NearestEvenForEveryNumberOfTheNarrowFormats) {
  expectNearestEven(f16Format);
  expectNearestEven(bf16Format);
  expectNearestEven(f8e4m3Format);
  expectNearestEven(f8e5m2Format);
  expectNearestEven(f6e2m3Format);
  expectNearestEven(f6e3m2Format);
  expectNearestEven(f4e2m1Format);
}

TEST(Rounding, AgreesWithTheMachineOnF32) {
  uint64_t state = 1;
  for (int i = 0; i < 100000; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const double value =
        std::ldexp(1 + static_cast<double>(state >> 12) * 0x1p-52, static_cast<int>(state % 320) - 170);
    EXPECT_EQ(roundToFormat(f32Format, value), static_cast<double>(static_cast<float>(value))) << value;
  }
}

TEST(Rounding, OverflowSaturatesFloat8Alone) {
  EXPECT_EQ(roundTo(ElemType::F8E4M3, 1e9), 448);
  EXPECT_EQ(roundTo(ElemType::F8E5M2, -INFINITY), -57344);
  EXPECT_EQ(roundTo(ElemType::F16, 65520), INFINITY);
  EXPECT_EQ(roundTo(ElemType::F16, 65519), 65504);
  EXPECT_TRUE(std::isnan(roundTo(ElemType::F8E4M3, NAN)));
}

TEST(Rounding, F4E2M1SaturatesAndHasNoNaN) {
  EXPECT_EQ(roundTo(ElemType::F4E2M1, 5), 4);
  EXPECT_EQ(roundTo(ElemType::F4E2M1, 5.01), 6);
  EXPECT_EQ(roundTo(ElemType::F4E2M1, -1e9), -6);
  EXPECT_EQ(roundTo(ElemType::F4E2M1, NAN), 6);
}

TEST(Rounding, IntegersOfFourBitsSaturate) {
  EXPECT_EQ(roundTo(ElemType::U4, 15.9), 15);
  EXPECT_EQ(roundTo(ElemType::U4, -1), 0);
  EXPECT_EQ(roundTo(ElemType::I4, -100), -8);
  EXPECT_EQ(roundTo(ElemType::I4, 7.5), 7);
  EXPECT_EQ(roundTo(ElemType::I4, NAN), 0);
}

TEST(Rounding, Float6SaturatesAndHasNoNaN) {
  EXPECT_EQ(roundTo(ElemType::F6E2M3, 0.0625), 0);
  EXPECT_EQ(roundTo(ElemType::F6E2M3, 7.25), 7);
  EXPECT_EQ(roundTo(ElemType::F6E2M3, INFINITY), 7.5);
  EXPECT_EQ(roundTo(ElemType::F6E2M3, NAN), 7.5);
  EXPECT_EQ(roundTo(ElemType::F6E3M2, 0.09375), 0.125);
  EXPECT_EQ(roundTo(ElemType::F6E3M2, 26), 24);
  EXPECT_EQ(roundTo(ElemType::F6E3M2, -1e9), -28);
  EXPECT_EQ(roundTo(ElemType::F6E3M2, -NAN), 28);
}

TEST(Rounding, F8E8M0RoundsUpToAPowerOfTwo) {
  EXPECT_EQ(roundTo(ElemType::F8E8M0, 1), 1);
  EXPECT_EQ(roundTo(ElemType::F8E8M0, std::nextafter(1.0f, 2.0f)), 2);
  EXPECT_EQ(roundTo(ElemType::F8E8M0, std::nextafter(1.0f, 0.0f)), 1);
  EXPECT_EQ(roundTo(ElemType::F8E8M0, 0), 0x1p-127);
  EXPECT_EQ(roundTo(ElemType::F8E8M0, -3), 0x1p-127);
  EXPECT_EQ(roundTo(ElemType::F8E8M0, 0x1.8p-127), 0x1p-126);
  EXPECT_EQ(roundTo(ElemType::F8E8M0, INFINITY), 0x1p127);
  EXPECT_TRUE(std::isnan(roundTo(ElemType::F8E8M0, NAN)));
}

TEST(Rounding, KeepsTheSignOfZero) { EXPECT_TRUE(std::signbit(roundTo(ElemType::BF16, -1e-300))); }

TEST(Rounding, IntegersTruncateAndSaturate) {
  EXPECT_EQ(roundTo(ElemType::I32, -2.9), -2);
  EXPECT_EQ(roundTo(ElemType::I8, 300), 127);
  EXPECT_EQ(roundTo(ElemType::U8, -1), 0);
}

} // namespace
