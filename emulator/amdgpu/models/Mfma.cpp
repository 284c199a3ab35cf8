// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products of a wave, all operands in registers: `v_mfma_*`. All 64 lanes take part, whatever the others do; a
// wave with fewer lanes is an error. Modifiers that broadcast or negate (cbsz, abid, blgp) have no model.
#include "emulator/amdgpu/MfmaArithmetic.h"
#include "emulator/amdgpu/MfmaLayout.h"
#include "emulator/amdgpu/WaveModels.h"

#include <algorithm>
#include <cmath>

namespace tkc::emulator {
namespace {

enum Setting { Rows, Depth, TypeA, TypeB, IsOldBf16, IsScaled };

MfmaType typeOf(const WaveInstruction &instruction, Setting setting) {
  return static_cast<MfmaType>(instruction.settings[setting]);
}

std::vector<std::string_view> partsOf(std::string_view name) {
  std::vector<std::string_view> parts;
  for (; !name.empty(); name.remove_prefix(std::min(parts.back().size() + 1, name.size())))
    parts.push_back(name.substr(0, name.find('.')));
  return parts;
}

bool readType(std::string_view name, MfmaType &type) {
  constexpr std::pair<std::string_view, MfmaType> names[] = {
      {"f64", MfmaType::F64},   {"f32", MfmaType::F32}, {"xf32", MfmaType::XF32}, {"f16", MfmaType::F16},
      {"bf16", MfmaType::BF16}, {"i8", MfmaType::I8},   {"fp8", MfmaType::F8},    {"bf8", MfmaType::BF8}};
  for (const auto &[known, value] : names)
    if (known == name) {
      type = value;
      return true;
    }
  return false;
}

/// "16x16x16bf16": sizes, and what follows.
std::string_view readSizes(WaveInstruction &instruction, std::string_view text) {
  const auto number = [&] {
    int value = 0;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9')
      value = 10 * value + (text.front() - '0'), text.remove_prefix(1);
    return value;
  };
  instruction.settings[Rows] = number();
  for (Setting setting : {Rows, Depth})
    if (text.starts_with("x")) {
      text.remove_prefix(1);
      const int size = number();
      if (setting == Depth)
        instruction.settings[Depth] = size;
    }
  return text;
}

/// `mfma.f32.16x16x16bf16.1k`, `mfma.f32.32x32x16.bf8.fp8`, `mfma.i32.16x16x32.i8`
bool decodeMfma(WaveInstruction &instruction) {
  std::vector<std::string_view> parts = partsOf(instruction.name);
  if (parts.size() < 3)
    return false;
  const std::string_view attached = readSizes(instruction, parts[2]);
  const bool is1k = parts.back() == "1k";
  if (is1k)
    parts.pop_back();
  MfmaType a, b;
  if (!readType(attached.empty() ? parts[3] : attached, a))
    return false;
  b = a;
  if (parts.size() > 4 && !readType(parts[4], b))
    return false;
  instruction.settings[TypeA] = static_cast<int>(a);
  instruction.settings[TypeB] = static_cast<int>(b);
  instruction.settings[IsOldBf16] = a == MfmaType::BF16 && !attached.empty() && !is1k;
  return instruction.constant(3) == 0 && instruction.constant(4) == 0 && instruction.constant(5) == 0;
}

/// `mfma.scale.f32.16x16x128.f8f6f4`: a, b, c, types of a and b, then of either operand which byte of its scales.
/// Scales that are the constant 0 stand for the instruction without scales.
bool decodeScaled(WaveInstruction &instruction) {
  const std::vector<std::string_view> parts = partsOf(instruction.name);
  constexpr MfmaType types[] = {MfmaType::F8, MfmaType::BF8, MfmaType::F6, MfmaType::BF6, MfmaType::F4};
  if (parts.size() != 5 || !readSizes(instruction, parts[3]).empty())
    return false;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t which = instruction.constant(3 + i);
    if (which < 0 || which > 4)
      return false;
    const MfmaType type = types[which];
    instruction.settings[i == 0 ? TypeA : TypeB] = static_cast<int>(type);
    if (instruction.operands[i].bytes < bitsOf(type) * 4)
      return false;
  }
  const auto isZero = [&](size_t i) { return instruction.operands[i].constant == 0; };
  instruction.settings[IsScaled] = !(isZero(5) && isZero(6) && isZero(7) && isZero(8));
  return true;
}

MfmaShape shapeOf(const WaveInstruction &instruction) {
  const auto rows = static_cast<uint32_t>(instruction.settings[Rows]);
  const uint32_t perLane = instruction.result.bytes * 8 / instruction.result.elementBits;
  MfmaShape shape{rows, rows, static_cast<uint32_t>(instruction.settings[Depth]), 64 * perLane / (rows * rows)};
  shape.isF64 = typeOf(instruction, TypeA) == MfmaType::F64;
  return shape;
}

/// The i-th field of `bits` bits; fields of 6 may lie in two words.
uint32_t field(const std::byte *from, uint32_t i, uint32_t bits) {
  const uint32_t first = i * bits;
  uint64_t word = 0;
  std::memcpy(&word, from + first / 8, std::min(8u, (first % 8 + bits + 7) / 8));
  return static_cast<uint32_t>(word >> first % 8 & ((uint64_t(1) << bits) - 1));
}

/// All lanes' parts of an operand as [block][row or column][k].
std::vector<MfmaFactor> gather(const WaveInstruction &instruction, const WaveLanes &lanes, size_t operand,
                               MfmaShape shape) {
  const MfmaType type = typeOf(instruction, operand == 0 ? TypeA : TypeB);
  shape.inPieces = instruction.model->decode == decodeScaled && bitsOf(type) == 8;
  std::vector<MfmaFactor> result(static_cast<size_t>(shape.blocks) * shape.rows * shape.depth);
  const auto perLane = static_cast<uint32_t>(result.size()) / waveSize;
  for (uint32_t lane = 0; lane < waveSize; ++lane)
    for (uint32_t i = 0; i < perLane; ++i) {
      const MfmaOperandPlace place = mfmaOperandPlace(shape, shape.rows, lane, i);
      result[(place.block * shape.rows + place.row) * shape.depth + place.k] = decodeMfmaFactor(
          type, field(lanes.slots[lane] + instruction.operands[operand].offset, i, bitsOf(type)), instruction.gpu);
    }
  return result;
}

void requireAllLanes(const WaveInstruction &instruction, const WaveLanes &lanes) {
  if (lanes.arrived != ~uint64_t(0))
    reportError(instruction.site, "a matrix product in a wave of fewer than 64 lanes");
}

void multiplyDoubles(const WaveInstruction &instruction, WaveLanes &lanes) {
  const MfmaShape shape = shapeOf(instruction);
  std::vector<double> factors[2];
  for (size_t operand = 0; operand < 2; ++operand) {
    factors[operand].resize(static_cast<size_t>(shape.blocks) * shape.rows * shape.depth);
    for (uint32_t lane = 0; lane < waveSize; ++lane) {
      const MfmaOperandPlace place = mfmaOperandPlace(shape, shape.rows, lane, 0);
      factors[operand][(place.block * shape.rows + place.row) * shape.depth + place.k] =
          instruction.get<double>(lanes.slots[lane], operand);
    }
  }
  for (uint32_t lane = 0; lane < waveSize; ++lane)
    for (uint32_t i = 0; i < instruction.result.bytes / 8; ++i) {
      const MfmaResultPlace place = mfmaResultPlace(shape, lane, i);
      auto sum = instruction.get<double>(lanes.slots[lane], 2, i);
      for (uint32_t k = 0; k < shape.depth; ++k)
        sum = std::fma(factors[0][(place.block * shape.rows + place.row) * shape.depth + k],
                       factors[1][(place.block * shape.rows + place.col) * shape.depth + k], sum);
      instruction.set(lanes.slots[lane], sum, i);
    }
}

constexpr int32_t scaleIsNan = 1 << 20;

/// Exponents by which the blocks of 32 of A's row or B's column are scaled, as [row or column][block of k].
std::vector<int32_t> scalesOf(const WaveInstruction &instruction, const WaveLanes &lanes, size_t operand,
                              const MfmaShape &shape) {
  const uint32_t blocks = shape.depth / 32;
  std::vector<int32_t> scales(static_cast<size_t>(shape.rows) * blocks, 0);
  if (!instruction.settings[IsScaled])
    return scales;
  const int64_t byte = instruction.constant(operand - 1) & 3;
  for (uint32_t row = 0; row < shape.rows; ++row)
    for (uint32_t block = 0; block < blocks; ++block) {
      const auto word = instruction.get<uint32_t>(lanes.slots[row + shape.rows * block], operand);
      const auto code = static_cast<int32_t>(word >> (8 * byte) & 0xff);
      scales[row * blocks + block] = code == 255 ? scaleIsNan : code - 127;
    }
  return scales;
}

void multiplyIntegers(const WaveInstruction &instruction, WaveLanes &lanes) {
  const MfmaShape shape = shapeOf(instruction);
  const std::vector<MfmaFactor> a = gather(instruction, lanes, 0, shape), b = gather(instruction, lanes, 1, shape);
  for (uint32_t lane = 0; lane < waveSize; ++lane)
    for (uint32_t i = 0; i < instruction.result.bytes / 4; ++i) {
      const MfmaResultPlace place = mfmaResultPlace(shape, lane, i);
      const MfmaFactor *row = a.data() + (place.block * shape.rows + place.row) * shape.depth;
      const MfmaFactor *col = b.data() + (place.block * shape.rows + place.col) * shape.depth;
      auto sum = instruction.get<uint32_t>(lanes.slots[lane], 2, i);
      for (uint32_t k = 0; k < shape.depth; ++k)
        sum += static_cast<uint32_t>(row[k].mantissa * col[k].mantissa);
      instruction.set(lanes.slots[lane], sum, i);
    }
}

void multiplyFloats(const WaveInstruction &instruction, WaveLanes &lanes) {
  const MfmaShape shape = shapeOf(instruction);
  const std::vector<MfmaFactor> a = gather(instruction, lanes, 0, shape), b = gather(instruction, lanes, 1, shape);
  const bool scales = instruction.model->decode == decodeScaled && instruction.settings[IsScaled];
  const uint32_t scaledBlocks = scales ? shape.depth / 32 : 0;
  const std::vector<int32_t> scaleA = scales ? scalesOf(instruction, lanes, 6, shape) : std::vector<int32_t>();
  const std::vector<int32_t> scaleB = scales ? scalesOf(instruction, lanes, 8, shape) : std::vector<int32_t>();
  const MfmaSummation summation =
      mfmaSummation(typeOf(instruction, TypeA), instruction.settings[IsOldBf16] != 0, shape.depth, instruction.gpu);
  for (uint32_t lane = 0; lane < waveSize; ++lane)
    for (uint32_t i = 0; i < instruction.result.bytes / 4; ++i) {
      const MfmaResultPlace place = mfmaResultPlace(shape, lane, i);
      int32_t scale[4] = {};
      bool isNan = false;
      for (uint32_t block = 0; block < scaledBlocks; ++block) {
        scale[block] = scaleA[place.row * scaledBlocks + block] + scaleB[place.col * scaledBlocks + block];
        isNan |= scale[block] >= scaleIsNan / 2;
      }
      const float sum =
          isNan ? NAN
                : mfmaSum(a.data() + (place.block * shape.rows + place.row) * shape.depth,
                          b.data() + (place.block * shape.rows + place.col) * shape.depth, shape.depth,
                          instruction.get<float>(lanes.slots[lane], 2, i), summation, scales ? scale : nullptr);
      instruction.set(lanes.slots[lane], sum, i);
    }
}

void multiply(const WaveInstruction &instruction, WaveLanes &lanes) {
  requireAllLanes(instruction, lanes);
  const MfmaShape shape = shapeOf(instruction);
  if (std::optional<ClusterCounters> &counters = lanes.first().block->cluster.counters)
    counters->product(uint64_t(shape.rows) * shape.cols * shape.depth * shape.blocks);
  if (typeOf(instruction, TypeA) == MfmaType::F64)
    multiplyDoubles(instruction, lanes);
  else if (typeOf(instruction, TypeA) == MfmaType::I8)
    multiplyIntegers(instruction, lanes);
  else
    multiplyFloats(instruction, lanes);
}

constexpr WaveModel table[] = {
    {"mfma.scale.f32.*", nullptr, multiply, decodeScaled},
    {"mfma.*", nullptr, multiply, decodeMfma},
};

} // namespace

std::span<const WaveModel> mfmaWaveModels() { return table; }

} // namespace tkc::emulator
