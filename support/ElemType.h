// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of the language, shared by every level.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tkc {

enum class ElemType : uint8_t {
  F64,
  F32,
  TF32,
  F16,
  BF16,
  F8E4M3,
  F8E5M2,
  I64,
  I32,
  I8,
  U8,
  Bool,
  F8E8M0,
  F4E2M1,
  F6E2M3,
  F6E3M2,
  U4,
  I4
};

/// The spelling in .tk source and in the IRs: "bf16", "f8e4m3", …
std::string_view spelling(ElemType type);
std::optional<ElemType> parseElemType(std::string_view text);

/// Bits in memory. tf32 is stored as 32 bits, bool as 8. f4e2m1, u4 and i4 have 4, f6e2m3 and f6e3m2 6: these lie one
/// after another without gaps, the first in the lowest bits.
int bitWidth(ElemType type);
/// Whether elements share bytes. No number of such a type is infinite or NaN.
inline bool isPacked(ElemType type) { return bitWidth(type) < 8; }
/// The fewest elements that fill whole units of so many bytes: of f6e2m3, 64 fill three of 16.
int elementsOfWhole(int bytes, ElemType type);
/// The fewest that fill whole bytes, and these: 1 of a type that is not packed, 2 of four bits in one byte, 4 of six
/// in three.
inline int groupElements(ElemType type) { return elementsOfWhole(1, type); }
inline int groupBytes(ElemType type) { return groupElements(type) * bitWidth(type) / 8; }
/// Of a type that is not packed.
int byteWidth(ElemType type);
/// Bytes that so many elements take one after another: of a packed type, whole groups.
int64_t bytesOf(ElemType type, int64_t count);

bool isFloat(ElemType type);
inline bool isInteger(ElemType type) { return !isFloat(type) && type != ElemType::Bool; }
inline bool isFloat8(ElemType type) { return type == ElemType::F8E4M3 || type == ElemType::F8E5M2; }
inline bool isFloat6(ElemType type) { return type == ElemType::F6E2M3 || type == ElemType::F6E3M2; }
inline bool isPackedFloat(ElemType type) { return isPacked(type) && isFloat(type); }
/// Floats that take the largest finite number for what is too large.
inline bool saturates(ElemType type) { return isFloat8(type) || type == ElemType::F8E8M0 || isPackedFloat(type); }

/// The type in which arithmetic on `type` is done: f64 and f32 as they are, narrower floats in f32, integers in i32
/// (docs/language.md, "Types").
ElemType arithmeticType(ElemType type);

} // namespace tkc
