// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs blocks of a compiled function, one after another. Each thread has a worker of its own; they share all memory but
// what each block has.
#pragma once

#include "ir/interpreter/Interpreter.h"
#include "ir/interpreter/Memory.h"
#include "ir/interpreter/Program.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace tkc::ir::interpreter {

/// Where a tile index or an integer of a range stands. `end` is clipped to the range.
struct Position {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t index = 0;
};

class Worker {
public:
  Worker(const Program &program, const Memory &memory, const CallArguments &arguments);

  /// Appends the coordinates of every block of the grid, `depth` of them a block. False after an error.
  bool enumerateGrid(std::vector<Position> &blocks, size_t &depth);
  /// Runs the block at `coordinates`. `id` is from 1 and tells blocks apart. False after an error.
  bool runBlock(const Position *coordinates, uint32_t id);

  const std::optional<RuntimeError> &error() const { return failure; }

private:
  friend struct Access;

  bool run(const Sequence &sequence);
  bool execute(const Step &step);
  bool enumerate(const Sequence &sequence, std::vector<Position> &prefix, std::vector<Position> &blocks);
  bool runFor(const Step &step);
  bool runIf(const Step &step);
  void yieldInto(const Step &loop, const Step &yield);
  void setInduction(int slot, const Position &position, int64_t tileSize);

  // Elementwise.cpp
  void unary(const Step &step);
  void binary(const Step &step);
  void cast(const Step &step);
  void select(const Step &step);
  void philox(const Step &step);
  // Products.cpp
  void dot(const Step &step);
  bool dotScaled(const Step &step);
  bool checkScales(const Op &op, int scales);
  void reduce(const Step &step);
  void cumsum(const Step &step);
  // Access.cpp
  bool load(const Step &step);
  void loadPadding(const Step &step);
  bool store(const Step &step);
  bool atomic(const Step &step);
  template <class Visit> bool forEachStored(const Step &step, Visit visit);
  template <class T> bool readOwned(const Op &op, const TensorMemory &tensor, int64_t at, T &value);
  // Worker.cpp
  void full(const Step &step);
  void iota(const Step &step);
  void elements(const Step &step);
  void transpose(const Step &step);
  void copySlot(int from, int to);

  bool fail(SourceLoc loc, std::string message);
  void makeOwnMemory();
  void forgetOwnMemory();

  const Slot &info(int slot) const { return program.slots[slot]; }
  /// How many rows and columns exist now.
  int64_t existingRows(int slot) const { return existing(info(slot).rows, info(slot).rowEnd, info(slot).rowStep); }
  int64_t existingCols(int slot) const { return existing(info(slot).cols, info(slot).colEnd, info(slot).colStep); }
  /// How many are computed.
  int64_t rows(int slot) const { return program.padded ? info(slot).rows : existingRows(slot); }
  int64_t cols(int slot) const { return program.padded ? info(slot).cols : existingCols(slot); }
  int64_t existing(int64_t size, int end, int64_t step) const {
    if (end < 0)
      return size;
    const int64_t left = (positions[end].end - positions[end].begin + step - 1) / step;
    return left < size ? left : size;
  }
  template <class T> T *data(int slot) const { return static_cast<T *>(pointers[slot]); }
  int32_t integer(int slot) const { return *data<int32_t>(slot); }

  const Program &program;
  Memory memory;                                   ///< its tensors are everybody's, but for those in `ownTensors`
  std::vector<std::unique_ptr<Tensor>> ownTensors; ///< what each block has
  const CallArguments &arguments;
  std::unique_ptr<std::byte[]> storage;
  std::vector<void *> pointers;    ///< of each slot's elements; loops swap them
  std::vector<Position> positions; ///< of each slot that is a tile index
  const Position *coordinates = nullptr;
  uint32_t blockId = 0;
  std::optional<RuntimeError> failure;
};

/// An operand as element-wise loops read it: a stride of 0 repeats.
template <class T> struct Strided {
  const T *data;
  int64_t rowStride;
  int64_t colStride; ///< 0 or 1
  const T *row(int64_t r) const { return data + r * rowStride; }
};
template <class T> Strided<T> strided(const T *data, const Slot &slot) {
  return {data, slot.rows == 1 ? 0 : slot.cols, slot.cols == 1 ? 0 : 1};
}

// Integers wrap, as on every GPU.
template <class T> T wrappingAdd(T x, T y) {
  using Bits = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Bits>(x) + static_cast<Bits>(y));
}
template <class T> T wrappingSubtract(T x, T y) {
  using Bits = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Bits>(x) - static_cast<Bits>(y));
}
template <class T> T wrappingMultiply(T x, T y) {
  using Bits = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Bits>(x) * static_cast<Bits>(y));
}

/// Calls `visit` with a zero of the slot's element type in memory.
template <class Visit> void withStorage(Storage storage, Visit visit) {
  switch (storage) {
  case Storage::F32:
    return visit(float{});
  case Storage::F64:
    return visit(double{});
  case Storage::I64:
    return visit(int64_t{});
  case Storage::I32:
  case Storage::TileIndex:
    return visit(int32_t{});
  }
}

} // namespace tkc::ir::interpreter
