// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/ElemType.h"

#include <gtest/gtest.h>

using namespace tkc;

namespace {

constexpr ElemType allTypes[] = {ElemType::F64,  ElemType::F32,    ElemType::TF32,   ElemType::F16,
                                 ElemType::BF16, ElemType::F8E4M3, ElemType::F8E5M2, ElemType::I64,
                                 ElemType::I32,  ElemType::I8,     ElemType::U8,     ElemType::Bool};

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
}

} // namespace
