// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/ElemType.h"

#include <gtest/gtest.h>

using namespace tkc;

namespace {

constexpr ElemType allTypes[] = {ElemType::F64,    ElemType::F32,    ElemType::TF32,   ElemType::F16,
                                 ElemType::BF16,   ElemType::F8E4M3, ElemType::F8E5M2, ElemType::I64,
                                 ElemType::I32,    ElemType::I8,     ElemType::U8,     ElemType::Bool,
                                 ElemType::F8E8M0, ElemType::F4E2M1, ElemType::F6E2M3, ElemType::F6E3M2,
                                 ElemType::U4,     ElemType::I4};

TEST(ElemType, SpellingsParseBack) {
  for (ElemType type : allTypes)
    EXPECT_EQ(parseElemType(spelling(type)), type) << spelling(type);
  EXPECT_EQ(parseElemType("bf32"), std::nullopt);
}

TEST(ElemType, NarrowTypesComputeWider) {
  EXPECT_EQ(arithmeticType(ElemType::F64), ElemType::F64);
  EXPECT_EQ(arithmeticType(ElemType::F8E4M3), ElemType::F32);
  EXPECT_EQ(arithmeticType(ElemType::BF16), ElemType::F32);
  EXPECT_EQ(arithmeticType(ElemType::U8), ElemType::I32);
  EXPECT_EQ(arithmeticType(ElemType::F4E2M1), ElemType::F32);
  EXPECT_EQ(arithmeticType(ElemType::I4), ElemType::I32);
}

TEST(ElemType, GroupsFillWholeBytes) {
  for (ElemType type : allTypes)
    EXPECT_EQ(groupElements(type) * bitWidth(type), groupBytes(type) * 8) << spelling(type);
  EXPECT_EQ(groupElements(ElemType::F4E2M1), 2);
  EXPECT_EQ(groupElements(ElemType::U4), 2);
  EXPECT_EQ(groupElements(ElemType::F6E2M3), 4);
  EXPECT_EQ(groupElements(ElemType::BF16), 1);
  EXPECT_EQ(elementsOfWhole(16, ElemType::F6E3M2), 64);
  EXPECT_EQ(elementsOfWhole(16, ElemType::F4E2M1), 32);
  EXPECT_EQ(elementsOfWhole(16, ElemType::BF16), 8);
  EXPECT_EQ(groupBytes(ElemType::BF16), 2);
}

TEST(ElemType, PackedElementsShareBytes) {
  EXPECT_TRUE(isPacked(ElemType::F4E2M1));
  EXPECT_TRUE(isPacked(ElemType::I4));
  EXPECT_FALSE(isPackedFloat(ElemType::I4));
  EXPECT_FALSE(isPacked(ElemType::F8E8M0));
  EXPECT_EQ(bytesOf(ElemType::F4E2M1, 6), 3);
  EXPECT_EQ(bytesOf(ElemType::F6E3M2, 8), 6);
  EXPECT_EQ(bytesOf(ElemType::BF16, 3), 6);
}

} // namespace
