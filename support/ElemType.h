// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of the language, shared by every level.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tkc {

enum class ElemType : uint8_t { F64, F32, TF32, F16, BF16, F8E4M3, F8E5M2, I64, I32, I8, U8, Bool };

/// The spelling in .tk source and in the IRs: "bf16", "f8e4m3", …
std::string_view spelling(ElemType type);
std::optional<ElemType> parseElemType(std::string_view text);

/// Bits in memory. tf32 is stored as 32 bits, bool as 8.
int bitWidth(ElemType type);
inline int byteWidth(ElemType type) { return bitWidth(type) / 8; }

bool isFloat(ElemType type);
inline bool isInteger(ElemType type) { return !isFloat(type) && type != ElemType::Bool; }
inline bool isFloat8(ElemType type) { return type == ElemType::F8E4M3 || type == ElemType::F8E5M2; }

/// The type in which arithmetic on `type` is done: f64 and f32 as they are, narrower floats in f32, integers in i32
/// (docs/language.md, "Types").
ElemType arithmeticType(ElemType type);

} // namespace tkc
