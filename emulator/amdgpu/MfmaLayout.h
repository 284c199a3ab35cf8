// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of a matrix instruction's operands lie in the 64 lanes of a wave. Source: "AMD Instinct MI200
// ISA", "AMD Instinct MI300 ISA", "AMD Instinct CDNA4 ISA": "Matrix Arithmetic Instructions".
#pragma once

#include <cstdint>

namespace tkc::emulator {

struct MfmaShape {
  uint32_t rows, cols, depth; ///< of each block
  uint32_t blocks;            ///< independent products
  bool isF64 = false;
  /// Of f8f6f4 with 8-bit elements: a lane has its share of depth in two pieces of 16, half the depth apart.
  bool inPieces = false;
};

struct MfmaOperandPlace {
  uint32_t row; ///< of A; column of B
  uint32_t k, block;
};

/// Of the i-th element that a lane holds, from the lowest bit of its first register; `extent`: rows for A, columns for
/// B.
inline MfmaOperandPlace mfmaOperandPlace(const MfmaShape &shape, uint32_t extent, uint32_t lane, uint32_t i) {
  const uint32_t perLane = extent * shape.depth * shape.blocks / 64;
  const uint32_t group = lane / extent, parts = 64 / extent / shape.blocks; // of depth, among lanes
  const uint32_t part = group / shape.blocks;
  const uint32_t k = shape.inPieces ? i % 16 + 16 * (part + parts * (i / 16)) : part * perLane + i;
  return {lane % extent, k, group % shape.blocks};
}

struct MfmaResultPlace {
  uint32_t row, col, block;
};

/// Of the i-th element that a lane holds of C and D.
inline MfmaResultPlace mfmaResultPlace(const MfmaShape &shape, uint32_t lane, uint32_t i) {
  switch (shape.cols) {
  case 32:
    return {i % 4 + i % 16 / 4 * 8 + lane / 32 * 4, lane % 32, i / 16};
  case 16:
    if (shape.isF64)
      return {lane / 16 + 4 * i, lane % 16, 0};
    return {lane / 16 * 4 + i % 4, lane % 16, i / 4};
  default:
    if (shape.isF64)
      return {lane / 16, lane % 4, lane / 4 % 4};
    return {i, lane % 4, lane / 4};
  }
}

} // namespace tkc::emulator
