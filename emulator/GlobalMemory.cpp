// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/GlobalMemory.h"

#include <cstdlib>
#include <cstring>

namespace tkc::emulator {

constexpr size_t alignment = 256;

GlobalMemory::~GlobalMemory() {
  for (const auto &[end, allocation] : allocations)
    std::free(reinterpret_cast<void *>(allocation.begin));
}

void *GlobalMemory::allocate(size_t bytes) {
  // Neighbours never touch: what runs over one end is in none.
  void *memory = std::aligned_alloc(alignment, (bytes + 2 * alignment - 1) / alignment * alignment);
  if (!memory)
    return nullptr;
  const auto begin = reinterpret_cast<uint64_t>(memory);
  const std::lock_guard lock(mutex);
  allocations[begin + bytes] = {begin, begin + bytes, std::make_shared<GlobalShadow>(begin, bytes)};
  return memory;
}

void *GlobalMemory::variable(const std::string &name, size_t bytes) {
  const std::lock_guard lock(namesMutex);
  const auto [place, isNew] = variables.try_emplace(name);
  if (isNew) {
    place->second = allocate(bytes);
    std::memset(place->second, 0, bytes);
  }
  return place->second;
}

bool GlobalMemory::release(void *memory) {
  const std::lock_guard lock(mutex);
  for (auto i = allocations.begin(); i != allocations.end(); ++i)
    if (i->second.begin == reinterpret_cast<uint64_t>(memory)) {
      allocations.erase(i);
      std::free(memory);
      return true;
    }
  return false;
}

void GlobalMemory::forgetAccesses() const {
  const std::lock_guard lock(mutex);
  for (const auto &[end, allocation] : allocations)
    allocation.shadow->forget();
}

GlobalMemory::Allocation GlobalMemory::find(uint64_t address, uint64_t size) const {
  const std::lock_guard lock(mutex);
  const auto next = allocations.lower_bound(address + size);
  if (next == allocations.end() || !next->second.contains(address, size))
    return {};
  return next->second;
}

} // namespace tkc::emulator
