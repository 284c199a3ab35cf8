// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors of a run, and who wrote what.
#pragma once

#include "ir/TileIR.h"
#include "support/Tensor.h"

#include <atomic>
#include <memory>
#include <vector>

namespace tkc::ir::interpreter {

/// One tensor parameter. Elements that are written have an owner: 0 none yet, else the id of the block that stored, or
/// that has read what it alone has added; `onlyAdds` with the id of the block that alone has added so far; or
/// `addedBySeveral`.
struct TensorMemory {
  static constexpr uint32_t onlyAdds = 1U << 31, addedBySeveral = ~0U;

  Tensor *tensor = nullptr; ///< null: a scalar, or left out
  const Param *param = nullptr;
  std::vector<int64_t> strides;
  std::shared_ptr<std::atomic<uint32_t>[]> owners; ///< of out and inout tensors
};

struct Memory {
  std::vector<TensorMemory> tensors; ///< as the function's parameters
};

/// Strides without gaps.
std::vector<int64_t> rowMajor(const std::vector<int64_t> &dims);

/// Lays out the tensors, but for those that each block has, which workers make; fills `out` ones with a value that no
/// kernel means to store.
Memory layOut(const Function &function, CallArguments &arguments);

} // namespace tkc::ir::interpreter
