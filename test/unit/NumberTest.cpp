// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Tensor.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tkc {
namespace {

constexpr int64_t least = std::numeric_limits<int64_t>::min(), greatest = std::numeric_limits<int64_t>::max();

TEST(Number, BecomesTheNearestInteger) {
  EXPECT_EQ(Number(-2.9).toInteger(), -2);
  EXPECT_EQ(Number(0x1p63).toInteger(), greatest);
  EXPECT_EQ(Number(-INFINITY).toInteger(), least);
  EXPECT_EQ(Number(NAN).toInteger(), 0);
  EXPECT_EQ(Number::ofInteger(greatest).toInteger(), greatest);
}

TEST(Number, RoundsToAnIntegerTypeBySaturating) {
  EXPECT_EQ(roundTo(ElemType::I32, Number::ofInteger(1LL << 40)).toDouble(), 2147483647);
  EXPECT_EQ(roundTo(ElemType::U8, Number::ofInteger(-1)).toDouble(), 0);
  EXPECT_EQ(roundTo(ElemType::U4, Number::ofInteger(16)).toDouble(), 15);
  EXPECT_EQ(roundTo(ElemType::I4, Number::ofInteger(-9)).toDouble(), -8);
  EXPECT_EQ(roundTo(ElemType::I64, Number::ofInteger((1LL << 53) + 1)).toInteger(), (1LL << 53) + 1);
}

TEST(Number, IsInRangeOfATypeThatHasIt) {
  EXPECT_TRUE(isInRange(ElemType::I64, Number::ofInteger(least)));
  EXPECT_FALSE(isInRange(ElemType::I64, 0x1p63));
  EXPECT_FALSE(isInRange(ElemType::I32, Number::ofInteger(2147483648)));
  EXPECT_FALSE(isInRange(ElemType::I32, 0.5));
  EXPECT_FALSE(isInRange(ElemType::I8, NAN));
  EXPECT_FALSE(isInRange(ElemType::Bool, 2));
  EXPECT_FALSE(isInRange(ElemType::U4, 16));
  EXPECT_TRUE(isInRange(ElemType::I4, -8));
  EXPECT_EQ(outOfRange(ElemType::U4, 16), "a `u4` (a whole number from 0 to 15); this is 16");
  EXPECT_EQ(outOfRange(ElemType::I4, -9), "an `i4` (a whole number from -8 to 7); this is -9");
  EXPECT_TRUE(isInRange(ElemType::F16, 1e30));
}

TEST(Number, StaysExactInATensorOfI64) {
  Tensor tensor{ElemType::I64, {2}, {}};
  tensor.resize(2);
  tensor.set(1, Number::ofInteger(greatest));
  EXPECT_EQ(tensor.at(1).toInteger(), greatest);
  EXPECT_EQ(tensor.numValues(), 2u);
}

} // namespace
} // namespace tkc
