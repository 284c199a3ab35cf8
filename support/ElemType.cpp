// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/ElemType.h"

#include <array>
#include <cassert>
#include <numeric>
#include <utility>

namespace tkc {
namespace {

struct Row {
  ElemType type;
  std::string_view spelling;
  int bits;
  bool isFloat;
};

constexpr std::array<Row, 18> rows{{
    {ElemType::F64, "f64", 64, true},
    {ElemType::F32, "f32", 32, true},
    {ElemType::TF32, "tf32", 32, true},
    {ElemType::F16, "f16", 16, true},
    {ElemType::BF16, "bf16", 16, true},
    {ElemType::F8E4M3, "f8e4m3", 8, true},
    {ElemType::F8E5M2, "f8e5m2", 8, true},
    {ElemType::I64, "i64", 64, false},
    {ElemType::I32, "i32", 32, false},
    {ElemType::I8, "i8", 8, false},
    {ElemType::U8, "u8", 8, false},
    {ElemType::Bool, "bool", 8, false},
    {ElemType::F8E8M0, "f8e8m0", 8, true},
    {ElemType::F4E2M1, "f4e2m1", 4, true},
    {ElemType::F6E2M3, "f6e2m3", 6, true},
    {ElemType::F6E3M2, "f6e3m2", 6, true},
    {ElemType::U4, "u4", 4, false},
    {ElemType::I4, "i4", 4, false},
}};

const Row &rowOf(ElemType type) { return rows[static_cast<size_t>(type)]; }

} // namespace

std::string_view spelling(ElemType type) { return rowOf(type).spelling; }

std::optional<ElemType> parseElemType(std::string_view text) {
  for (const Row &row : rows)
    if (row.spelling == text)
      return row.type;
  return std::nullopt;
}

int bitWidth(ElemType type) { return rowOf(type).bits; }

int elementsOfWhole(int bytes, ElemType type) { return 8 * bytes / std::gcd(bitWidth(type), 8 * bytes); }

int byteWidth(ElemType type) {
  assert(!isPacked(type) && "several elements share a byte: bytesOf");
  return bitWidth(type) / 8;
}

int64_t bytesOf(ElemType type, int64_t count) {
  const int64_t bits = count * bitWidth(type);
  assert(bits % 8 == 0 && "elements that end within a byte");
  return bits / 8;
}

bool isFloat(ElemType type) { return rowOf(type).isFloat; }

ElemType arithmeticType(ElemType type) {
  if (type == ElemType::Bool || type == ElemType::F64 || type == ElemType::I64)
    return type;
  return isFloat(type) ? ElemType::F32 : ElemType::I32;
}

} // namespace tkc
