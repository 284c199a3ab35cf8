// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's conversions of the types of block-scaled products, against the compiler's, and the checks of tensors
// whose elements share bytes.
#include "harness/CaseData.h"
#include "support/Tensor.h"
#include "tk/host/check.h"
#include "tk/scale_types.h"
#include "tk/small_integers.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <utility>

using namespace tkc;

namespace {

/// Every sign and exponent with mantissas at and around what decides.
template <class Visit> void forManyFloats(Visit visit) {
  for (uint32_t exponent = 0; exponent < 512; ++exponent)
    for (uint32_t mantissa : {0u,        1u,        0x07ffffu, 0x080000u, 0x080001u, 0x0fffffu, 0x100000u, 0x100001u,
                              0x17ffffu, 0x180000u, 0x180001u, 0x1fffffu, 0x200000u, 0x200001u, 0x3fffffu, 0x400000u,
                              0x400001u, 0x5fffffu, 0x600000u, 0x600001u, 0x700000u, 0x780000u, 0x7fffffu})
      visit(std::bit_cast<float>(exponent << 23 | mantissa));
}

TEST(ScaleTypes, NarrowAsTheCompilerDoes) {
  forManyFloats([](float x) {
    ASSERT_EQ(tk::narrow_to_f4e2m1(x), harness::encodeElement(ElemType::F4E2M1, roundTo(ElemType::F4E2M1, x))) << x;
    ASSERT_EQ(tk::narrow_to_float6<tk::e2m3_format>(x),
              harness::encodeElement(ElemType::F6E2M3, roundTo(ElemType::F6E2M3, x)))
        << x;
    ASSERT_EQ(tk::narrow_to_float6<tk::e3m2_format>(x),
              harness::encodeElement(ElemType::F6E3M2, roundTo(ElemType::F6E3M2, x)))
        << x;
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
    const auto bits = static_cast<unsigned char>(code);
    ASSERT_EQ(tk::widen_integer(tk::u4{bits}), harness::decodeElement(ElemType::U4, code));
    ASSERT_EQ(tk::widen_integer(tk::i4{bits}), harness::decodeElement(ElemType::I4, code));
  }
  for (unsigned code = 0; code < 64; ++code) {
    const float e2m3 = tk::widen_float6<tk::e2m3_format>(code), e3m2 = tk::widen_float6<tk::e3m2_format>(code);
    ASSERT_EQ(e2m3, harness::decodeElement(ElemType::F6E2M3, code));
    ASSERT_EQ(e3m2, harness::decodeElement(ElemType::F6E3M2, code));
    ASSERT_EQ(std::signbit(e2m3), code >= 32);
    ASSERT_EQ(std::signbit(e3m2), code >= 32);
  }
}

/// f4e2m1 in memory, as DLPack says it.
struct Packed {
  int64_t dims[2], strides[2];
  tk_tensor tensor;
  Packed(char *data, int64_t rows, int64_t cols, int64_t pitch, uint16_t lanes = 1)
      : dims{rows, cols}, strides{pitch, 1}, tensor{data, 2, 0, 2, 17, 4, lanes, dims, strides, 0} {}
  Packed(const Packed &) = delete;
};

TEST(ScaleTypes, TensorsMayCountElementsOrPairs) {
  char data[16];
  Packed elements(data, 4, 8, 8), pairs(data, 4, 4, 4, 2);
  tk::host::call call("k");
  for (const tk_tensor *tensor : {&elements.tensor, &pairs.tensor}) {
    const tk::host::argument argument = call.tensor("x", tensor, 2);
    ASSERT_TRUE(call.ok()) << call.status().message;
    EXPECT_EQ(argument.dim(0), 4);
    EXPECT_EQ(argument.dim(1), 8);
    EXPECT_EQ(argument.stride(0), 8);
    EXPECT_EQ(argument.stride(1), 1);
  }
}

TEST(ScaleTypes, RowsAreWholeBytes) {
  char data[32];
  Packed pitch(data, 4, 8, 9), cols(data, 4, 7, 8);
  for (const tk_tensor *tensor : {&pitch.tensor, &cols.tensor}) {
    tk::host::call call("k");
    call.tensor("x", tensor, 2);
    EXPECT_STREQ(call.status().message,
                 "k: elements of `x` share bytes: its last dim and its other strides must be multiples of 2");
  }
  for (const auto &[lastDim, pitch] : {std::pair{6, 8}, std::pair{8, 10}}) {
    Packed tensor(data, 4, lastDim, pitch);
    tensor.tensor.type_code = 15, tensor.tensor.type_bits = 6;
    tk::host::call call("k");
    call.tensor("x", &tensor.tensor, 2);
    EXPECT_STREQ(call.status().message,
                 "k: elements of `x` share bytes: its last dim and its other strides must be multiples of 4");
  }
}

TEST(ScaleTypes, OverlapIsCountedInBytes) {
  char data[32];
  Packed first(data, 4, 8, 8), behind(data + 16, 4, 8, 8), across(data + 12, 4, 8, 8);
  tk::host::call call("k");
  const auto x = call.tensor("x", &first.tensor, 2), y = call.tensor("y", &behind.tensor, 2),
             z = call.tensor("z", &across.tensor, 2);
  call.disjoint(x, y);
  EXPECT_TRUE(call.ok());
  call.disjoint(x, z);
  EXPECT_FALSE(call.ok());
}

} // namespace
