// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor memory of a block: 128 lanes of 512 columns of 32 bits, who has allocated its columns, and who wrote and
// read them last. That is kept for 16 lanes of a column together, the least that an instruction other than a product
// with disabled lanes touches. Source: PTX ISA, "Tensor Memory".
#pragma once

#include "emulator/Clock.h"
#include "emulator/Sites.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tkc::emulator {

/// Who accesses tensor memory: the products and copies of one thread, the loads or the stores of one warp.
struct TensorAgent {
  const Clock &order; ///< accesses that are over before this one
  Epoch epoch;
  SiteId site = 0;
};

struct TensorConflict {
  enum class Kind : uint8_t { NotAllocated, Uninitialised, ReadAfterWrite, WriteAfterWrite, WriteAfterRead };
  Kind kind;
  uint32_t lane, column; ///< the first
  SiteId otherSite = 0;  ///< of the access before
};

class TensorMemory {
public:
  static constexpr uint32_t lanes = 128, columns = 512;
  static constexpr uint32_t groupLanes = 16, groups = lanes / groupLanes;

  struct Allocation {
    uint32_t first, count;
    SiteId site;
  };

  /// Where `count` columns are free, at a multiple of their number: the first place or the last.
  std::optional<uint32_t> findFree(uint32_t count, bool last) const;
  void allocate(const Allocation &allocation);
  /// False: there is no such allocation.
  bool release(uint32_t first, uint32_t count);
  const std::vector<Allocation> &allocations() const { return allocated; }

  /// Lanes [16 · group, 16 · group + 16) of a column, those in `mask`.
  std::optional<TensorConflict> read(uint32_t group, uint32_t column, uint32_t mask, const TensorAgent &agent);
  std::optional<TensorConflict> write(uint32_t group, uint32_t column, uint32_t mask, const TensorAgent &agent);

  uint32_t &word(uint32_t lane, uint32_t column) { return words[lane * columns + column]; }

  uint32_t allocatedColumns() const {
    uint32_t sum = 0;
    for (const Allocation &it : allocated)
      sum += it.count;
    return sum;
  }

  uint32_t requested = 0;    ///< columns that a warp waits for
  bool relinquished = false; ///< the right to allocate
  int blocksTogether = 0;    ///< the `cta_group` that the kernel uses; 0: not known yet

private:
  struct Access {
    Epoch epoch;
    SiteId site = 0;
  };
  struct Cell {
    uint32_t written = 0; ///< lanes
    Access write;
    std::vector<Access> reads; ///< since
  };

  bool isAllocated(uint32_t column) const;
  Cell &cell(uint32_t group, uint32_t column) { return cells[group * columns + column]; }

  std::vector<Allocation> allocated;
  std::vector<uint32_t> words; ///< none before the first allocation
  std::vector<Cell> cells;
};

} // namespace tkc::emulator
