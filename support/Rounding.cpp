// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Rounding.h"
#include "support/Tensor.h"

namespace tkc {

double roundTo(ElemType elem, double value) {
  switch (elem) {
  case ElemType::F64:
    return value;
  case ElemType::F32:
    return static_cast<float>(value);
  case ElemType::TF32:
    return roundToFormat(tf32Format, value);
  case ElemType::F16:
    return roundToFormat(f16Format, value);
  case ElemType::BF16:
    return roundToFormat(bf16Format, value);
  case ElemType::F8E4M3:
    return roundToFormat(f8e4m3Format, value);
  case ElemType::F8E5M2:
    return roundToFormat(f8e5m2Format, value);
  case ElemType::F8E8M0:
    return roundToF8E8M0(value);
  case ElemType::F4E2M1:
    return roundToFinite(f4e2m1Format, value);
  case ElemType::F6E2M3:
    return roundToFinite(f6e2m3Format, value);
  case ElemType::F6E3M2:
    return roundToFinite(f6e3m2Format, value);
  case ElemType::I64: // the greatest has no double: Number
    return truncateTo(-0x1p63, 0x1p63, value);
  case ElemType::I32:
    return truncateTo(-0x1p31, 0x1p31 - 1, value);
  case ElemType::I8:
    return truncateTo(-128, 127, value);
  case ElemType::U8:
    return truncateTo(0, 255, value);
  case ElemType::I4:
    return truncateTo(-8, 7, value);
  case ElemType::U4:
    return truncateTo(0, 15, value);
  case ElemType::Bool:
    return value != 0;
  }
  return value;
}

namespace {

const FloatFormat *formatOf(ElemType elem) {
  switch (elem) {
  case ElemType::F32:
    return &f32Format;
  case ElemType::TF32:
    return &tf32Format;
  case ElemType::F16:
    return &f16Format;
  case ElemType::BF16:
    return &bf16Format;
  case ElemType::F8E4M3:
    return &f8e4m3Format;
  case ElemType::F8E5M2:
    return &f8e5m2Format;
  case ElemType::F4E2M1:
    return &f4e2m1Format;
  case ElemType::F6E2M3:
    return &f6e2m3Format;
  case ElemType::F6E3M2:
    return &f6e3m2Format;
  case ElemType::F8E8M0: // its numbers are a factor of two apart
    return &f8e8m0Format;
  case ElemType::F64:
  case ElemType::I64:
  case ElemType::I32:
  case ElemType::I8:
  case ElemType::U8:
  case ElemType::I4:
  case ElemType::U4:
  case ElemType::Bool:
    return nullptr;
  }
  return nullptr;
}

} // namespace

double unitRoundoff(ElemType elem) {
  if (elem == ElemType::F64)
    return 0x1p-53;
  if (elem == ElemType::F8E8M0) // rounds up
    return 1;
  const FloatFormat *format = formatOf(elem);
  return format ? std::ldexp(1.0, -format->mantissaBits - 1) : 0;
}

double smallestNormal(ElemType elem) {
  if (elem == ElemType::F64)
    return std::numeric_limits<double>::min();
  const FloatFormat *format = formatOf(elem);
  return format ? std::ldexp(1.0, format->minExponent) : 0;
}

} // namespace tkc
