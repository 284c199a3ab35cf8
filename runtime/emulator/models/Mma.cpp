// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of one warp, all operands in registers. Source: PTX ISA, "mma".
#include "runtime/emulator/Formats.h"
#include "runtime/emulator/MatrixArithmetic.h"
#include "runtime/emulator/Models.h"
#include "runtime/emulator/models/MatrixOperands.h"

#include <array>
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

enum Setting { Depth, TypeA, TypeB, Accumulator };
enum AccumulatorType { Float, Half, Integer };
constexpr uint32_t rows = 16, cols = 8;

/// `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32`, for integers perhaps with `.satfinite`.
bool decodeMma(BoundInstruction &instruction) {
  std::vector<std::string_view> parts = instruction.parts();
  std::erase(parts, "kind::f8f6f4");
  if (parts.size() != 10 || !parts[3].starts_with("m16n8k") || parts[4] != "row" || parts[5] != "col" ||
      parts[6] != parts[9] || !readMatrixType(parts[7], instruction.settings[TypeA]) ||
      !readMatrixType(parts[8], instruction.settings[TypeB]))
    return false;
  instruction.settings[Depth] = std::atoi(parts[3].data() + 6);
  instruction.settings[Accumulator] = parts[6] == "f32" ? Float : parts[6] == "f16" ? Half : Integer;
  const auto type = static_cast<MatrixType>(instruction.settings[TypeA]);
  const bool isInteger = type == MatrixType::I8 || type == MatrixType::U8;
  const uint32_t bytes = static_cast<uint32_t>(instruction.settings[Depth]) * bytesOf(type);
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
      result[place.row * depth + place.col] = decodeFactor(type, element(lanes.slots[lane] + operand.first, i, size));
    }
  return result;
}

void multiplyAll(const BoundInstruction &instruction, Collective &lanes) {
  const auto typeA = static_cast<MatrixType>(instruction.settings[TypeA]);
  const auto typeB = static_cast<MatrixType>(instruction.settings[TypeB]);
  const auto depth = static_cast<uint32_t>(instruction.settings[Depth]);
  const std::vector<Factor> a = gather(lanes, instruction.operands[1], typeA, depth, operandPlace, rows);
  const std::vector<Factor> b = gather(lanes, instruction.operands[2], typeB, depth, rightOperandPlace, cols);
  if (std::optional<ClusterCounters> &counters = lanes.threads[0]->block->cluster.counters)
    counters->product(uint64_t(rows) * cols * depth);
  const Summation summation = mmaSummation(typeA, lanes.threads[0]->block->cluster.launch.options->architecture);
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
