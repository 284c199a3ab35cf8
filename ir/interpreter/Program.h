// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function made ready to run: every SSA value has a slot, every op knows its slots.
#pragma once

#include "ir/TileIR.h"

#include <cstdint>
#include <vector>

namespace tkc::ir::interpreter {

/// How a slot keeps its elements: all floats up to f32 as float, all integers but i64, and bools, as int32_t.
enum class Storage : uint8_t { F32, F64, I32, I64, TileIndex };
Storage storageOf(ElemType elem);
inline int64_t storageBytes(Storage storage) { return storage == Storage::F64 || storage == Storage::I64 ? 8 : 4; }

/// A slot's shape. Scalars are 1×1 and vectors 1×length, so that everything is rows of contiguous elements.
struct Slot {
  Storage storage;
  ElemType elem;
  int64_t rows = 1;
  int64_t cols = 1;
  int rowEnd = -1;     ///< slot of the tile index that ends the rows; -1: full
  int colEnd = -1;     ///< likewise
  int64_t rowStep = 1; ///< elements of that tile index for each row
  int64_t colStep = 1; ///< likewise
  int64_t offset = 0;  ///< of its elements in a worker's memory, in bytes
};

struct Step;
struct Sequence {
  std::vector<int> args;
  std::vector<Step> steps;
  bool hasParallel = false;
};
struct Step {
  const Op *op;
  std::vector<int> operands;
  std::vector<int> results;
  std::vector<Sequence> bodies;
  int tensor = -1; ///< Load, Store, Atomic: index of the parameter
  /// Load, of padded tiles: what the tensor has beyond the end of the rows, the columns may be anything.
  bool anyPastRows = false, anyPastCols = false;
};

struct Program {
  const Function *function;
  std::vector<Slot> slots;
  Sequence body;
  int64_t memoryBytes = 0; ///< that a worker needs for all slots
  bool padded = false;     ///< InterpretOptions::padded
};

Program compile(const Function &function, bool padded);

} // namespace tkc::ir::interpreter
