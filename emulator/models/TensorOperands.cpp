// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/models/TensorOperands.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

namespace tkc::emulator {

uint32_t operandBits(TensorKind kind) {
  switch (kind) {
  case TensorKind::F16:
    return 16;
  case TensorKind::TF32:
    return 32;
  case TensorKind::F8F6F4:
  case TensorKind::I8:
  case TensorKind::MXF8F6F4:
    return 8;
  case TensorKind::MXF4:
  case TensorKind::MXF4NVF4:
    return 4;
  }
  return 0;
}

// ---- operands in shared memory

namespace {

/// Bytes of the swizzle's span by the layout's code; 1: 128 bytes, in chunks of 32. ~0: no such layout.
constexpr std::array<uint32_t, 8> spans{0, 128, 128, ~0u, 64, ~0u, 32, ~0u};
constexpr uint32_t base32B = 1;

uint32_t field(uint64_t bits, int low, int width) { return static_cast<uint32_t>(bits >> low & ((1ull << width) - 1)); }

} // namespace

TensorDescriptor TensorDescriptor::decode(uint64_t bits) {
  const uint32_t layout = field(bits, 61, 3);
  return {{field(bits, 0, 14) << 4, field(bits, 16, 14) << 4, field(bits, 32, 14) << 4, 0, spans[layout]},
          layout == base32B};
}

std::string TensorDescriptor::fault(uint64_t bits, bool mnMajor) {
  const uint32_t layout = field(bits, 61, 3), span = spans[layout];
  if (field(bits, 46, 2) != 1)
    return fmt::format("a matrix descriptor ({:#018x}) whose bits 46 and 47 are not the constant 1", bits);
  if (span == ~0u)
    return fmt::format("a matrix descriptor ({:#018x}) with {} for its swizzle, which means none", bits, layout);
  if (field(bits, 14, 2) || field(bits, 30, 2) || field(bits, 48, 1) || field(bits, 53, 8))
    return fmt::format("a matrix descriptor ({:#018x}) with reserved bits set", bits);
  if (field(bits, 49, 3) || field(bits, 52, 1))
    return fmt::format("a matrix descriptor ({:#018x}) with a base offset or absolute strides, which have no model",
                       bits);
  if (layout == base32B && !mnMajor)
    return fmt::format("a matrix descriptor ({:#018x}) whose swizzle is for MN-major operands", bits);
  const uint32_t start = field(bits, 0, 14) << 4, atom = layout == base32B ? 512 : 8 * span;
  if (span != 0 && start % atom >= span)
    return fmt::format("misaligned: an operand at byte {} of shared memory, in the middle of a swizzle atom of {} "
                       "bytes",
                       start, atom);
  return {};
}

// ---- instructions

TensorInstruction TensorInstruction::decode(uint32_t bits, TensorKind kind) {
  TensorInstruction result{};
  result.typeA = field(bits, 7, 3), result.typeB = field(bits, 10, 3);
  result.negateA = field(bits, 13, 1), result.negateB = field(bits, 14, 1);
  result.mnMajorA = field(bits, 15, 1), result.mnMajorB = field(bits, 16, 1);
  result.n = field(bits, 17, 6) * 8, result.m = field(bits, 24, 5) * 16;
  if (isBlockScaled(kind)) {
    result.typeD = 1;
    result.scaleB = field(bits, 4, 2), result.scaleType = field(bits, 23, 1), result.scaleA = field(bits, 29, 2);
  } else {
    result.typeD = field(bits, 4, 2);
    result.saturates = field(bits, 3, 1);
  }
  return result;
}

namespace {

bool isOperandType(TensorKind kind, uint32_t code) {
  switch (kind) {
  case TensorKind::F16:
  case TensorKind::I8:
    return code <= 1;
  case TensorKind::TF32:
    return code == 2;
  case TensorKind::F8F6F4:
  case TensorKind::MXF8F6F4:
    return code <= 5 && code != 2;
  case TensorKind::MXF4:
  case TensorKind::MXF4NVF4:
    return code == 1;
  }
  return false;
}

bool isResultType(TensorKind kind, uint32_t code) {
  switch (kind) {
  case TensorKind::F16:
  case TensorKind::F8F6F4:
    return code <= 1;
  case TensorKind::TF32:
    return code == 1;
  case TensorKind::I8:
    return code == 2;
  case TensorKind::MXF8F6F4:
  case TensorKind::MXF4:
  case TensorKind::MXF4NVF4:
    return true; // not in the descriptor
  }
  return false;
}

bool isShape(TensorKind kind, uint32_t m, uint32_t n, uint32_t blocks) {
  if (n == 0 || n > 256)
    return false;
  if (isBlockScaled(kind))
    return blocks == 1 ? m == 128 && n % 8 == 0
                       : (m == 256 || (m == 128 && kind != TensorKind::MXF8F6F4)) && n % 16 == 0;
  if (m != 128 && m != (blocks == 1 ? 64u : 256u))
    return false;
  if (kind == TensorKind::I8)
    return blocks == 1 ? n % 16 == 0 || n == 8 : n % 32 == 0;
  return n % (8 * blocks) == 0;
}

} // namespace

std::string TensorInstruction::fault(uint32_t bits, TensorKind kind, uint32_t blocks) {
  const TensorInstruction it = decode(bits, kind);
  if (field(bits, 0, 3) != 0)
    return fmt::format("an instruction descriptor ({:#010x}) of a sparse product, which has no model", bits);
  const bool scaled = isBlockScaled(kind);
  if (scaled ? field(bits, 3, 1) || field(bits, 6, 1) || field(bits, 31, 1)
             : field(bits, 6, 1) || field(bits, 23, 1) || field(bits, 29, 3))
    return fmt::format("an instruction descriptor ({:#010x}) with reserved bits set", bits);
  if (!isOperandType(kind, it.typeA) || !isOperandType(kind, it.typeB) || !isResultType(kind, it.typeD))
    return fmt::format("an instruction descriptor ({:#010x}) with a type that its kind does not have", bits);
  if (kind == TensorKind::I8 ? it.negateA || it.negateB : it.saturates)
    return fmt::format("an instruction descriptor ({:#010x}) with a flag that its kind does not have", bits);
  if ((it.mnMajorA || it.mnMajorB) && operandBits(kind) == 4)
    return fmt::format("an instruction descriptor ({:#010x}) with MN-major operands of 4 bits", bits);
  if (!isShape(kind, it.m, it.n, blocks))
    return fmt::format("an instruction descriptor ({:#010x}) for {}×{}, which is no shape of this kind by {} block{}",
                       bits, it.m, it.n, blocks, blocks == 1 ? "" : "s");
  return {};
}

std::optional<MoveShape> readMoveShape(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, MoveShape>, 5> names{{{"32x32b", MoveShape::S32x32b},
                                                                         {"16x32bx2", MoveShape::S16x32bx2},
                                                                         {"16x64b", MoveShape::S16x64b},
                                                                         {"16x128b", MoveShape::S16x128b},
                                                                         {"16x256b", MoveShape::S16x256b}}};
  for (const auto &[known, shape] : names)
    if (known == name)
      return shape;
  return std::nullopt;
}

} // namespace tkc::emulator
