// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/CaseData.h"

#include "support/Rounding.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tkc;
using namespace tkc::harness;

namespace {

TEST(CaseData, EveryNumberOfTheNarrowFormatsGoesThereAndBack) {
  for (ElemType elem : {ElemType::F16, ElemType::BF16, ElemType::F8E4M3, ElemType::F8E5M2, ElemType::F8E8M0,
                        ElemType::F4E2M1, ElemType::F6E2M3, ElemType::F6E3M2, ElemType::U4, ElemType::I4})
    for (uint64_t bits = 0; bits < (uint64_t{1} << bitWidth(elem)); ++bits) {
      const double value = decodeElement(elem, bits);
      if (std::isnan(value))
        continue;
      ASSERT_EQ(encodeElement(elem, value), bits) << spelling(elem);
      if (std::isfinite(value))
        ASSERT_EQ(roundTo(elem, value), value) << spelling(elem);
    }
}

TEST(CaseData, KnownBits) {
  EXPECT_EQ(encodeElement(ElemType::F16, 65504), 0x7bffu);
  EXPECT_EQ(encodeElement(ElemType::BF16, -1.0), 0xbf80u);
  EXPECT_EQ(encodeElement(ElemType::F8E4M3, 448), 0x7eu);
  EXPECT_EQ(encodeElement(ElemType::F8E5M2, 57344), 0x7bu);
  EXPECT_EQ(encodeElement(ElemType::F8E8M0, 0.5), 126u);
  EXPECT_TRUE(std::isnan(decodeElement(ElemType::F8E8M0, 255)));
  EXPECT_EQ(encodeElement(ElemType::F4E2M1, -3), 0xdu);
  EXPECT_EQ(encodeElement(ElemType::F6E2M3, 7.5), 0x1fu);
  EXPECT_EQ(encodeElement(ElemType::F6E2M3, -0.125), 0x21u);
  EXPECT_EQ(encodeElement(ElemType::F6E3M2, 28), 0x1fu);
  EXPECT_EQ(encodeElement(ElemType::F6E3M2, 1), 0x0cu);
  EXPECT_EQ(encodeElement(ElemType::I32, -2), 0xfffffffeu);
  EXPECT_EQ(encodeElement(ElemType::I4, -2), 0xeu);
  EXPECT_EQ(decodeElement(ElemType::I4, 0x78), -8);
  EXPECT_EQ(decodeElement(ElemType::U4, 0x78), 8);
  EXPECT_TRUE(std::isnan(decodeElement(ElemType::F8E4M3, encodeElement(ElemType::F8E4M3, NAN))));
}

TEST(CaseData, PaddedAndReorderedStridesKeepTheLastDimContiguous) {
  EXPECT_EQ(stridesOf({2, 3, 4}, {}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(stridesOf({2, 3, 4}, {8, {}}), (std::vector<int64_t>{36, 12, 1}));
  EXPECT_EQ(stridesOf({2, 3, 5, 4}, {0, {0, 2, 1, 3}}), (std::vector<int64_t>{60, 4, 12, 1}));
}

TEST(CaseData, WritesWhatTheHeaderDescribes) {
  Signature signature;
  ir::Param in, out;
  in.name = "x";
  out.name = "y";
  in.isTensor = out.isTensor = true;
  out.mode = ir::ParamMode::Out;
  signature.params = {in, out};
  PreparedCase prepared;
  prepared.signature = &signature;
  prepared.arguments.tensors["x"] = {ElemType::U8, {2, 2}, {1, 2, 3, 4}};
  prepared.arguments.tensors["y"] = {ElemType::F32, {1}, {}};
  prepared.layouts["x"].pad = 1;
  Expected expected;
  expected["y"] = {{ElemType::F32, {1}, {2.5}}, {0.5}};
  const std::string bytes = encodeCase(prepared, expected);
  // magic, no scalars, two tensors
  EXPECT_EQ(bytes.substr(0, 8), "TKCASE2\n");
  size_t at = 16;
  // x: name, type, role, rank, dims, strides, five bytes of memory, given: a row, a gap, a row
  at += 4 + 1 + 12 + 16 + 16;
  EXPECT_EQ(bytes.substr(at, 12), std::string("\5\0\0\0\0\0\0\0\0\0\0\0", 12));
  EXPECT_EQ(bytes.substr(at + 12, 5), "\1\2\xa5\3\4");
  at += 17;
  // y: name, type, role, rank, dim, stride, bytes, untouched, expected, tolerance
  at += 4 + 1 + 12 + 8 + 8;
  EXPECT_EQ(bytes.substr(at, 12), std::string("\4\0\0\0\0\0\0\0\1\0\0\0", 12));
  at += 12;
  EXPECT_EQ(bytes.size(), at + 8 + 8 + 8);
}

} // namespace
