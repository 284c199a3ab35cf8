// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who wrote and who read global memory last, within one launch: a word of the host for the write and one for the reads
// of every four bytes, with a mask of those bytes. Clusters run on several threads of the host, so each record is one
// atomic word; what does not fit into it (launches of more than a million clusters) is not recorded.
//
// Of the reads of four bytes the latest of a cluster is kept, with which bytes that cluster read, and which of these
// other clusters read too; of writes likewise the latest. So what is found between clusters is nearly all, as they have
// no order; within a cluster a read that another one followed is not checked against.
#pragma once

#include "emulator/SharedMemory.h"

#include <atomic>
#include <cstdint>
#include <optional>

namespace tkc::emulator {

enum class GlobalAccess : uint8_t { Read, Write, Atomic };

/// Who accesses global memory.
struct GlobalAgent {
  const Knowledge &knows;
  Epoch epoch;
  uint32_t cluster; ///< number in the launch
  bool isAsync = false;
  SiteId site = 0;
};

/// Two accesses that nothing orders.
struct GlobalConflict {
  Conflict::Kind kind;
  uint64_t address;
  uint32_t cluster; ///< of the access before
  Epoch other;
  SiteId otherSite;
};

/// Of one allocation.
class GlobalShadow {
public:
  GlobalShadow(uint64_t begin, size_t bytes);
  ~GlobalShadow();
  GlobalShadow(const GlobalShadow &) = delete;

  /// Checks and records. What conflicts is not recorded.
  std::optional<GlobalConflict> access(uint64_t address, uint64_t size, GlobalAccess kind, const GlobalAgent &agent);
  /// A write whose conflicts are of no account.
  void overwrite(uint64_t address, uint64_t size, const GlobalAgent &agent);
  /// Everything is ordered before what comes.
  void forget();

private:
  struct Cell {
    std::atomic<uint64_t> write, read;
    std::atomic<SiteId> writeSite, readSite;
  };

  uint64_t begin;
  size_t mapped; ///< bytes
  Cell *cells;   ///< pages are taken as they are touched
  std::atomic<bool> used = false;
};

} // namespace tkc::emulator
