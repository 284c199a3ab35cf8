// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where tcgen05's instructions find their operands: descriptors of shared memory and of the instruction, accumulators,
// left operands and scale factors in tensor memory, and the registers of loads and stores. Source: PTX ISA, "Matrix
// descriptor", "Instruction descriptor", "Data Path Layout Organization", "Data movement shape", "Scale factor
// layouts".
#pragma once

#include "emulator/models/MatrixOperands.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tkc::emulator {

enum class TensorKind : uint8_t { F16, TF32, F8F6F4, I8, MXF8F6F4, MXF4, MXF4NVF4 };

inline bool isBlockScaled(TensorKind kind) { return kind >= TensorKind::MXF8F6F4; }

/// Bits of an operand's element in shared memory.
uint32_t operandBits(TensorKind kind);
/// The instruction's extent along k.
inline uint32_t depthOf(TensorKind kind) { return 256 / operandBits(kind); }

/// An operand in shared memory.
struct TensorDescriptor {
  MatrixDescriptor matrix;
  bool pairsOfChunks = false; ///< the swizzle permutes 32 bytes at a time, within 4 rows

  static TensorDescriptor decode(uint64_t bits);
  /// What is wrong with it, or nothing.
  static std::string fault(uint64_t bits, bool mnMajor);

  /// Byte offset of element (mn, k), of `size` bytes, in the block's shared memory.
  uint32_t offset(uint32_t mn, uint32_t k, uint32_t size, bool mnMajor) const {
    if (!pairsOfChunks)
      return matrix.offset(mn, k, size, mnMajor);
    const uint32_t perSpan = 128 / size;
    const uint32_t at =
        matrix.start + mn % perSpan * size + mn / perSpan * matrix.leading + k % 4 * 128 + k / 4 * matrix.stride;
    return at ^ ((at >> 7 & 3) << 5);
  }
};

/// The instruction descriptor.
struct TensorInstruction {
  uint32_t m, n;                ///< of all blocks that take part
  uint32_t typeA, typeB, typeD; ///< codes of the kind
  bool negateA, negateB;
  bool mnMajorA, mnMajorB;
  bool saturates;
  uint32_t scaleA, scaleB, scaleType; ///< of block scales: which byte of a column; 0: ue4m3, 1: ue8m0

  static TensorInstruction decode(uint32_t bits, TensorKind kind);
  /// What is wrong with it, or nothing.
  static std::string fault(uint32_t bits, TensorKind kind, uint32_t blocks);
};

struct TensorPlace {
  uint32_t lane, column, bit;
};

/// Of an instruction whose rows in one block are `rows`: the lanes that they lie in.
enum class DataPath : uint8_t {
  Whole,    ///< 128 rows, a lane each
  Quarters, ///< 64 rows, 16 lanes of each quarter
  Folded    ///< 64 rows a block of a pair, the right half of the columns below the left one
};
inline DataPath dataPath(uint32_t rows, uint32_t blocks) {
  return rows == 128 ? DataPath::Whole : blocks == 2 ? DataPath::Folded : DataPath::Quarters;
}
inline uint32_t laneOfRow(DataPath path, uint32_t row) {
  return path == DataPath::Quarters ? row % 16 + row / 16 * 32 : row;
}
/// Element (row, col) of the block's part of an accumulator of `n` columns.
inline TensorPlace accumulatorPlace(DataPath path, uint32_t n, uint32_t row, uint32_t col) {
  if (path == DataPath::Folded)
    return {row + 64 * (col / (n / 2)), col % (n / 2), 0};
  return {laneOfRow(path, row), col, 0};
}
/// Element (row, k) of a left operand in tensor memory, of `bits` bits.
inline TensorPlace leftOperandPlace(DataPath path, uint32_t row, uint32_t k, uint32_t bits) {
  return {laneOfRow(path, row), k * bits / 32, k * bits % 32};
}

/// Scale factor `s` of row (or column) mn for an instruction; the same stands in all four quarters. `bit` counts from
/// the byte that the instruction descriptor names.
inline TensorPlace scalePlace(uint32_t mn, uint32_t s) { return {mn % 32, mn / 32, 8 * s}; }
/// Byte of scale factor s (0 to 3) of row mn (0 to 127) in the 512 bytes that are copied to tensor memory at once.
inline uint32_t scaleByte(uint32_t mn, uint32_t s) { return mn % 32 * 16 + mn / 32 * 4 + s; }

/// Shapes of tcgen05.ld and tcgen05.st.
enum class MoveShape : uint8_t { S32x32b, S16x32bx2, S16x64b, S16x128b, S16x256b };
std::optional<MoveShape> readMoveShape(std::string_view name);
/// Registers that one repetition takes.
inline uint32_t registersOf(MoveShape shape) {
  return shape == MoveShape::S16x256b ? 4 : shape == MoveShape::S16x128b ? 2 : 1;
}
inline uint32_t lanesOf(MoveShape shape) { return shape == MoveShape::S32x32b ? 32 : 16; }

/// Half `h` (0: the low 16 bits) of register r of a thread. Packed registers have the low halves of two columns.
/// `split`: of 16x32bx2, columns between the two halves of the warp.
inline TensorPlace movePlace(MoveShape shape, bool packed, uint32_t split, uint32_t thread, uint32_t r, uint32_t h) {
  uint32_t lane = 0, column = 0;
  switch (shape) {
  case MoveShape::S32x32b:
    lane = thread, column = r;
    break;
  case MoveShape::S16x32bx2:
    lane = thread % 16, column = r;
    break;
  case MoveShape::S16x64b:
    lane = thread % 2 * 8 + thread / 4, column = thread / 2 % 2 + r * 2;
    break;
  case MoveShape::S16x128b:
    lane = thread / 4 + r % 2 * 8, column = thread % 4 + r / 2 * 4;
    break;
  case MoveShape::S16x256b:
    lane = thread / 4 + r / 2 % 2 * 8, column = thread % 4 * 2 + r % 2 + r / 4 * 8;
    break;
  }
  if (packed)
    column = 2 * column + h;
  if (shape == MoveShape::S16x32bx2)
    column += thread / 16 * split;
  return {lane, column, packed ? 0 : 16 * h};
}

} // namespace tkc::emulator
