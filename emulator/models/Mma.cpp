// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of one warp, all operands in registers, with block scales and without. Source: PTX ISA, "mma", "Block
// Scaling for mma.sync".
#include "emulator/Formats.h"
#include "emulator/MatrixArithmetic.h"
#include "emulator/Models.h"
#include "emulator/models/MatrixOperands.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace tkc::emulator {

bool readMatrixType(std::string_view name, int &type) {
  constexpr std::array<std::pair<std::string_view, MatrixType>, 7> names{{{"bf16", MatrixType::BF16},
                                                                          {"f16", MatrixType::F16},
                                                                          {"tf32", MatrixType::TF32},
                                                                          {"e4m3", MatrixType::F8E4M3},
                                                                          {"e5m2", MatrixType::F8E5M2},
                                                                          {"s8", MatrixType::I8},
                                                                          {"u8", MatrixType::U8}}};
  for (const auto &[known, value] : names)
    if (known == name) {
      type = static_cast<int>(value);
      return true;
    }
  return false;
}

namespace {

enum Setting { Depth, TypeA, TypeB, Accumulator, ScalesPerRow, PowersOfTwo };
enum AccumulatorType { Float, Half, Integer };
constexpr uint32_t rows = 16, cols = 8;

/// What block scales add: `kind::mxf8f6f4.block_scale.scale_vec::1X`, their type at the end. Leaves the rest in
/// `parts`. Of mxf8f6f4 elements of 8 and of 6 bits.
bool takeScales(BoundInstruction &instruction, std::vector<std::string_view> &parts) {
  std::string_view kind, each;
  for (const std::string_view part : parts) {
    kind = part.starts_with("kind::") ? part : kind;
    each = part.starts_with("scale_vec::") ? part : each;
  }
  const bool isFloat4 = kind == "kind::mxf4" || kind == "kind::mxf4nvf4";
  if (each.empty() && kind != "kind::mxf4nvf4")
    each = isFloat4 ? "scale_vec::2X" : "scale_vec::1X";
  const std::string_view type = parts.back();
  parts.pop_back();
  std::erase_if(parts, [&](std::string_view part) { return part == kind || part == "block_scale" || part == each; });
  instruction.settings[ScalesPerRow] = each == "scale_vec::1X" ? 1 : each == "scale_vec::2X" ? 2 : 4;
  instruction.settings[PowersOfTwo] = type == "ue8m0";
  if (instruction.operands.size() != 8 || parts.size() != 10 || (type != "ue8m0" && type != "ue4m3"))
    return false;
  for (const size_t operand : {4, 6})
    if (instruction.operands[operand].count != 1 || instruction.operands[operand + 1].count != 2)
      return false;
  const bool fitsKind =
      isFloat4 ? (each == "scale_vec::2X" && type == "ue8m0") || (each == "scale_vec::4X" && kind == "kind::mxf4nvf4")
               : kind == "kind::mxf8f6f4" && each == "scale_vec::1X" && type == "ue8m0";
  return fitsKind && (parts[7] == "e2m1") == isFloat4 && (parts[8] == "e2m1") == isFloat4 &&
         parts[3] == (isFloat4 ? "m16n8k64" : "m16n8k32");
}

uint32_t perByte(MatrixType type) { return type == MatrixType::F4E2M1 ? 2 : 1; }

bool readElementType(std::string_view name, int &type) {
  constexpr std::array<std::pair<std::string_view, MatrixType>, 3> names{
      {{"e2m3", MatrixType::F6E2M3}, {"e3m2", MatrixType::F6E3M2}, {"e2m1", MatrixType::F4E2M1}}};
  for (const auto &[known, value] : names)
    if (known == name) {
      type = static_cast<int>(value);
      return true;
    }
  return readMatrixType(name, type);
}

/// Elements of 6 bits, each in a byte of its own, are for kinds f8f6f4 and mxf8f6f4; of 4 bits for kinds of their own.
bool suitsKind(int type, bool isScaled, bool hasKind) {
  const auto read = static_cast<MatrixType>(type);
  return read == MatrixType::F4E2M1 ? isScaled : !isFloat6(read) || isScaled || hasKind;
}

/// `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32`, for integers perhaps with `.satfinite`.
bool decodeMma(BoundInstruction &instruction) {
  std::vector<std::string_view> parts = instruction.parts();
  const bool isScaled = instruction.has("block_scale");
  if (isScaled && !takeScales(instruction, parts))
    return false;
  const bool hasKind = std::erase(parts, "kind::f8f6f4") > 0;
  if (parts.size() != 10 || !parts[3].starts_with("m16n8k") || parts[4] != "row" || parts[5] != "col" ||
      parts[6] != parts[9] || !readElementType(parts[7], instruction.settings[TypeA]) ||
      !readElementType(parts[8], instruction.settings[TypeB]) ||
      !suitsKind(instruction.settings[TypeA], isScaled, hasKind) ||
      !suitsKind(instruction.settings[TypeB], isScaled, hasKind))
    return false;
  instruction.settings[Depth] = std::atoi(parts[3].data() + 6);
  instruction.settings[Accumulator] = parts[6] == "f32" ? Float : parts[6] == "f16" ? Half : Integer;
  const auto type = static_cast<MatrixType>(instruction.settings[TypeA]);
  const bool isInteger = type == MatrixType::I8 || type == MatrixType::U8;
  const uint32_t bytes = static_cast<uint32_t>(instruction.settings[Depth]) * bytesOf(type) / perByte(type);
  return (parts[6] == "f32" || parts[6] == "f16" || parts[6] == "s32") &&
         isInteger == (instruction.settings[Accumulator] == Integer) && (bytes == 16 || bytes == 32) &&
         instruction.operands[1].count == bytes / 8 && instruction.operands[2].count == bytes / 16;
}

uint32_t element(const uint64_t *slots, uint32_t i, uint32_t size) {
  const uint32_t perRegister = 4 / size;
  const auto word = static_cast<uint32_t>(slots[i / perRegister]);
  return size == 4 ? word : word >> (i % perRegister * 8 * size) & ((1u << 8 * size) - 1);
}

/// All lanes' parts of an operand as [row or column of the product][k].
std::vector<Factor> gather(const Collective &lanes, const BoundInstruction::Operand &operand, MatrixType type,
                           uint32_t depth, Place (*placeOf)(uint32_t, uint32_t, uint32_t), uint32_t extent) {
  const uint32_t size = bytesOf(type);
  std::vector<Factor> result(static_cast<size_t>(extent) * depth);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < operand.count * 4 / size; ++i) {
      const Place place = placeOf(lane, i, size);
      const uint32_t bits = element(lanes.slots[lane] + operand.first, i, size), parts = perByte(type);
      for (uint32_t part = 0; part < parts; ++part) // two f4e2m1 lie as a byte does
        result[place.row * depth + place.col * parts + part] = decodeFactor(type, bits >> 4 * part);
    }
  return result;
}

/// Multiplies the elements [row][k] by their scales, whose operands are `first` and the next: four scales a lane, and
/// from which byte and which lanes they are taken.
void applyScales(const BoundInstruction &instruction, const Collective &lanes, size_t first, uint32_t extent,
                 uint32_t (*laneOf)(uint32_t, uint32_t), std::vector<Factor> &elements) {
  const auto each = static_cast<uint32_t>(instruction.settings[ScalesPerRow]);
  const auto depth = static_cast<uint32_t>(instruction.settings[Depth]);
  const auto slot = [&](uint32_t lane, size_t operand, uint32_t i) {
    return static_cast<uint32_t>(lanes.slots[lane][instruction.operands[operand].first + i]);
  };
  const uint32_t byte = slot(0, first + 1, 0) & 0xffff, from = slot(0, first + 1, 1) & 0xffff;
  for (uint32_t lane = 1; lane < 32; ++lane)
    if ((slot(lane, first + 1, 0) & 0xffff) != byte || (slot(lane, first + 1, 1) & 0xffff) != from)
      reportError(instruction.site, "lanes that name different scales of a product");
  if (byte % each != 0 || byte > 3 || from > (extent == rows ? 1u : 3u))
    reportError(instruction.site, fmt::format("scales from byte {} of lane {} of a product that takes {} for a row of "
                                              "{}",
                                              byte, from, each, extent == rows ? "its left operand" : "its right one"));
  for (uint32_t row = 0; row < extent; ++row)
    for (uint32_t s = 0; s < each; ++s) {
      const uint32_t code = slot(laneOf(row, from & 3), first, 0) >> (8 * (byte % 4 + s)) & 0xff;
      const Factor scale = instruction.settings[PowersOfTwo]
                               ? Factor{1, static_cast<int32_t>(code) - 127, code == 0xff ? NAN : 1.0f}
                               : decodeFactor(MatrixType::F8E4M3, code & 0x7f);
      for (uint32_t k = s * depth / each; k < (s + 1) * depth / each; ++k) {
        Factor &element = elements[row * depth + k];
        element.mantissa *= scale.mantissa;
        element.exponent += scale.exponent;
        if (!std::isfinite(scale.value))
          element.value = scale.value;
      }
    }
}

void multiplyAll(const BoundInstruction &instruction, Collective &lanes) {
  const auto typeA = static_cast<MatrixType>(instruction.settings[TypeA]);
  const auto typeB = static_cast<MatrixType>(instruction.settings[TypeB]);
  const auto depth = static_cast<uint32_t>(instruction.settings[Depth]);
  std::vector<Factor> a = gather(lanes, instruction.operands[1], typeA, depth, operandPlace, rows);
  std::vector<Factor> b = gather(lanes, instruction.operands[2], typeB, depth, rightOperandPlace, cols);
  const bool isScaled = instruction.settings[ScalesPerRow] != 0;
  if (isScaled) {
    applyScales(instruction, lanes, 4, rows, rowScaleLane, a);
    applyScales(instruction, lanes, 6, cols, columnScaleLane, b);
  }
  if (std::optional<ClusterCounters> &counters = lanes.threads[0]->block->cluster.counters)
    counters->product(uint64_t(rows) * cols * depth);
  const int architecture = lanes.threads[0]->block->cluster.launch.options->architecture;
  const Summation summation = isScaled ? tensorSummation() : mmaSummation(typeA, architecture);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint64_t *to = lanes.slots[lane];
    const uint64_t *from = to + instruction.operands[3].first;
    uint32_t halves[4];
    for (uint32_t i = 0; i < 4; ++i) {
      const Place place = accumulatorPlace(lane, i);
      const Factor *row = a.data() + place.row * depth, *col = b.data() + place.col * depth;
      switch (instruction.settings[Accumulator]) {
      case Float:
        to[i] = fromFloat(sumOfProducts(row, col, depth, asFloat(from[i]), summation));
        break;
      case Half:
        halves[i] = encode(
            f16, sumOfProducts(row, col, depth, static_cast<float>(decode(f16, element(from, i, 2))), summation));
        break;
      default: {
        auto sum = static_cast<uint32_t>(from[i]);
        for (uint32_t k = 0; k < depth; ++k)
          sum += static_cast<uint32_t>(row[k].mantissa * col[k].mantissa);
        to[i] = sum;
      }
      }
    }
    if (instruction.settings[Accumulator] == Half)
      for (uint32_t i = 0; i < 2; ++i)
        to[i] = halves[2 * i] | halves[2 * i + 1] << 16;
  }
}

void multiply(const BoundInstruction &instruction, uint64_t *slots) {
  meet(current(), &instruction, ~0u, slots, "mma.sync", [&](Collective &lanes) { multiplyAll(instruction, lanes); });
}

constexpr Model table[] = {
    {"mma.sync.aligned.*", multiply, decodeMma},
};

} // namespace

std::span<const Model> mmaModels() { return table; }

} // namespace tkc::emulator
