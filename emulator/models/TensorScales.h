// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scale factors of blocks of an operand, in tensor memory.
#pragma once

#include "emulator/MatrixArithmetic.h"
#include "emulator/models/TensorQueue.h"

namespace tkc::emulator {

struct TensorScales {
  TensorAddress address;
  uint32_t perRow;    ///< scale factors of a row, each of as many elements along k
  uint32_t firstByte; ///< of a column
  bool isPowerOfTwo;  ///< ue8m0, else ue4m3
};

/// Multiplies the elements [row][k] of an operand by the factors that the block has for them.
void applyScales(Block &block, const TensorScales &scales, uint32_t rows, uint32_t depth,
                 const TensorOperation &operation, std::vector<Factor> &elements);

} // namespace tkc::emulator
