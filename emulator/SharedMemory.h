// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shared memory of a block, and for each of its bytes who wrote and who read it last.
//
// All blocks that run lie in one arena below 4 GiB, each in a slot of 256 KiB, the slots of a cluster one after
// another: the 32-bit address of an instruction is the pointer itself, and the block's rank in the cluster a bit field
// of it.
#pragma once

#include "emulator/Clock.h"
#include "emulator/Sites.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace tkc::emulator {

class SharedArena {
public:
  static constexpr uint32_t slotBytes = 256 << 10;

  /// Throws std::bad_alloc where the address space below 4 GiB is taken.
  explicit SharedArena(size_t slots);
  ~SharedArena();
  SharedArena(const SharedArena &) = delete;

  uint32_t slot(size_t i) const { return base + static_cast<uint32_t>(i) * slotBytes; }
  bool contains(uint64_t address) const { return address - base < bytes; }

private:
  uint32_t base;
  size_t bytes;
};

/// Who accesses memory: a thread, or what works on its behalf.
struct Agent {
  const Knowledge &knows;
  Epoch epoch;
  bool isAsync = false;
  SiteId site = 0;
};

/// Two accesses that nothing orders, or a read of what nobody wrote.
struct Conflict {
  enum class Kind : uint8_t {
    Uninitialised,
    ReadAfterWrite,
    WriteAfterWrite,
    WriteAfterRead,
    UnfencedWrite,
    UnfencedRead
  };
  Kind kind;
  uint32_t address; ///< of the first byte
  Epoch other;      ///< the access before
  SiteId otherSite;
};

class SharedMemory {
public:
  /// On NVIDIA's GPUs memory below this offset belongs to the system, as on the hardware since sm_90.
  static constexpr uint32_t reserved = 1024;

  /// `bytes` are those that the kernel asked for, static and dynamic; they begin `system` bytes after the slot.
  /// Components of clocks below `threads` are threads.
  void start(uint32_t slot, uint32_t bytes, uint32_t system, uint32_t threads);

  uint32_t begin() const { return base; }
  uint32_t end() const { return base + bytes; }
  bool contains(uint64_t address, uint64_t size) const { return address >= begin() && address + size <= end(); }

  std::optional<Conflict> read(uint32_t address, uint32_t size, const Agent &agent);
  std::optional<Conflict> write(uint32_t address, uint32_t size, const Agent &agent);

  /// A write whose conflicts are of no account.
  void overwrite(uint32_t address, uint32_t size, const Agent &agent);

private:
  static constexpr uint32_t noComponent = ~0u, manyReaders = ~0u - 1;

  struct Access {
    Epoch epoch{noComponent, 0};
    SiteId site = 0;
  };
  struct Cell {
    Access write;
    Access read; ///< of `manyReaders`, `time` is an index into `readers`
    bool writtenByAsync = false;
  };

  /// Those that read a byte with nothing between. Of a component, or of reads in order, the latest counts; the others
  /// are dropped from time to time, as looking for them at each read would take longest of all.
  struct Readers {
    std::vector<Access> list;
    size_t room = 0; ///< the length at which the list is cleaned

    void begin(const Access &first, const Access &second);
    void add(const Access &access, const Knowledge &knows);
  };

  void setWriter(Cell &cell, const Agent &agent);
  void addReader(Cell &cell, const Agent &agent);
  std::optional<Conflict> checkReaders(const Cell &cell, uint32_t address, const Agent &agent) const;

  uint32_t base = 0, bytes = 0, threads = 0;
  std::vector<Cell> cells;
  std::vector<Readers> readers;
  std::vector<uint32_t> unusedReaders; ///< indices of lists of bytes that have been written since
};

} // namespace tkc::emulator
