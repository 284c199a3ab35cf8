// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the program allocated on the device.
#pragma once

#include "emulator/GlobalShadow.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace tkc::emulator {

class GlobalMemory {
public:
  struct Allocation {
    uint64_t begin = 0, end = 0;
    std::shared_ptr<GlobalShadow> shadow;
    bool contains(uint64_t address, uint64_t size) const { return address >= begin && address + size <= end; }
  };

  ~GlobalMemory();

  /// Aligned as cudaMalloc does, to 256 bytes.
  void *allocate(size_t bytes);
  /// Where the variable of this name lies, which begins with zeros.
  void *variable(const std::string &name, size_t bytes);
  /// False if nothing was allocated there.
  bool release(void *memory);
  /// The allocation that holds all of it; an empty one if none does.
  Allocation find(uint64_t address, uint64_t size) const;
  /// A launch begins: all accesses before it are ordered before its own.
  void forgetAccesses() const;

private:
  mutable std::mutex mutex;
  std::map<uint64_t, Allocation> allocations; ///< by their end
  std::mutex namesMutex;
  std::map<std::string, void *> variables;
};

} // namespace tkc::emulator
