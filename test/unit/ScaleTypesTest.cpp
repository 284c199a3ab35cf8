// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's conversions of the types of block-scaled products, against the compiler's.
#include "harness/CaseData.h"
#include "support/Tensor.h"
#include "tk/scale_types.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace tkc;

namespace {

/// Every sign and exponent with mantissas at and around what decides.
template <class Visit> void forManyFloats(Visit visit) {
  for (uint32_t exponent = 0; exponent < 512; ++exponent)
    for (uint32_t mantissa :
         {0u, 1u, 0x1fffffu, 0x200000u, 0x200001u, 0x3fffffu, 0x400000u, 0x400001u, 0x600000u, 0x7fffffu})
      visit(std::bit_cast<float>(exponent << 23 | mantissa));
}

TEST(ScaleTypes, NarrowAsTheCompilerDoes) {
  forManyFloats([](float x) {
    ASSERT_EQ(tk::narrow_to_f4e2m1(x), harness::encodeElement(ElemType::F4E2M1, roundTo(ElemType::F4E2M1, x))) << x;
    ASSERT_EQ(tk::narrow_to_f8e8m0(x), harness::encodeElement(ElemType::F8E8M0, roundTo(ElemType::F8E8M0, x))) << x;
  });
}

TEST(ScaleTypes, WidenAsTheCompilerDoes) {
  for (unsigned code = 0; code < 255; ++code)
    ASSERT_EQ(tk::widen_f8e8m0(code), harness::decodeElement(ElemType::F8E8M0, code));
  EXPECT_TRUE(std::isnan(tk::widen_f8e8m0(255)));
  for (unsigned code = 0; code < 16; ++code) {
    const double value = harness::decodeElement(ElemType::F4E2M1, code);
    ASSERT_EQ(tk::widen_f4e2m1(code), value);
    ASSERT_EQ(std::signbit(tk::widen_f4e2m1(code)), std::signbit(value));
  }
}

} // namespace
