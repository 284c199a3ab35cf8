// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/SharedMemory.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <sys/mman.h>

namespace tkc::emulator {

SharedArena::SharedArena(size_t slots) : bytes(slots * slotBytes) {
  // Aligned so that the slot's number is a bit field. Addresses of executables start below or far above.
  for (uint64_t at = 0x40000000; at + bytes < 0x100000000; at += 0x1000000) {
    void *memory = mmap(reinterpret_cast<void *>(at), bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == reinterpret_cast<void *>(at)) {
      base = static_cast<uint32_t>(at);
      return;
    }
    if (memory != MAP_FAILED)
      munmap(memory, bytes);
  }
  throw std::bad_alloc();
}

SharedArena::~SharedArena() { munmap(reinterpret_cast<void *>(static_cast<uint64_t>(base)), bytes); }

void SharedMemory::start(uint32_t slot, uint32_t size, uint32_t system, uint32_t threadComponents) {
  base = slot + system;
  bytes = size;
  threads = threadComponents;
  cells.assign(size, Cell());
  readers.clear();
  unusedReaders.clear();
  // NaN in every type of float, and no sensible index.
  std::memset(reinterpret_cast<void *>(static_cast<uint64_t>(begin())), 0xff, bytes);
}

std::optional<Conflict> SharedMemory::read(uint32_t address, uint32_t size, const Agent &agent) {
  for (uint32_t at = address; at < address + size; ++at) {
    Cell &cell = cells[at - begin()];
    const Access &write = cell.write;
    if (write.epoch.component == noComponent)
      return Conflict{Conflict::Kind::Uninitialised, at, {}, 0};
    if (!agent.knows.happened.knows(write.epoch))
      return Conflict{Conflict::Kind::ReadAfterWrite, at, write.epoch, write.site};
    if (agent.isAsync && !cell.writtenByAsync && !agent.knows.fenced.knows(write.epoch))
      return Conflict{Conflict::Kind::UnfencedWrite, at, write.epoch, write.site};
    addReader(cell, agent);
  }
  return std::nullopt;
}

void SharedMemory::addReader(Cell &cell, const Agent &agent) {
  const Access access{agent.epoch, agent.site};
  if (cell.read.epoch.component == manyReaders) {
    readers[cell.read.epoch.time].add(access, agent.knows);
  } else if (cell.read.epoch.component == noComponent || cell.read.epoch.component == agent.epoch.component ||
             agent.knows.happened.knows(cell.read.epoch)) {
    cell.read = access;
  } else {
    if (unusedReaders.empty()) {
      unusedReaders.push_back(static_cast<uint32_t>(readers.size()));
      readers.emplace_back();
    }
    const uint32_t list = unusedReaders.back();
    unusedReaders.pop_back();
    readers[list].begin(cell.read, access);
    cell.read.epoch = {manyReaders, list};
  }
}

void SharedMemory::Readers::begin(const Access &first, const Access &second) {
  list.assign({first, second});
  room = 16;
}

void SharedMemory::Readers::add(const Access &access, const Knowledge &knows) {
  if (list.back().epoch.component == access.epoch.component) {
    list.back() = access;
    return;
  }
  list.push_back(access);
  if (list.size() < room)
    return;
  // Whoever knows of the later of two reads that are in order, or of one component, knows of the earlier.
  std::erase_if(list, [&](const Access &reader) {
    return reader.epoch.component != access.epoch.component && knows.happened.knows(reader.epoch);
  });
  std::sort(list.begin(), list.end(), [](const Access &a, const Access &b) {
    return a.epoch.component != b.epoch.component ? a.epoch.component < b.epoch.component : a.epoch.time > b.epoch.time;
  });
  list.erase(std::unique(list.begin(), list.end(),
                         [](const Access &a, const Access &b) { return a.epoch.component == b.epoch.component; }),
             list.end());
  room = std::max<size_t>(16, 2 * list.size());
}

std::optional<Conflict> SharedMemory::checkReaders(const Cell &cell, uint32_t address, const Agent &agent) const {
  const auto conflict = [&](const Access &reader) -> std::optional<Conflict> {
    if (reader.epoch.component == noComponent)
      return std::nullopt;
    if (!agent.knows.happened.knows(reader.epoch))
      return Conflict{Conflict::Kind::WriteAfterRead, address, reader.epoch, reader.site};
    if (agent.isAsync && reader.epoch.component < threads && !agent.knows.fenced.knows(reader.epoch))
      return Conflict{Conflict::Kind::UnfencedRead, address, reader.epoch, reader.site};
    return std::nullopt;
  };
  if (cell.read.epoch.component != manyReaders)
    return conflict(cell.read);
  for (const Access &reader : readers[cell.read.epoch.time].list)
    if (std::optional<Conflict> found = conflict(reader))
      return found;
  return std::nullopt;
}

std::optional<Conflict> SharedMemory::write(uint32_t address, uint32_t size, const Agent &agent) {
  for (uint32_t at = address; at < address + size; ++at) {
    Cell &cell = cells[at - begin()];
    if (cell.write.epoch.component != noComponent) {
      if (!agent.knows.happened.knows(cell.write.epoch))
        return Conflict{Conflict::Kind::WriteAfterWrite, at, cell.write.epoch, cell.write.site};
      if (agent.isAsync && !cell.writtenByAsync && !agent.knows.fenced.knows(cell.write.epoch))
        return Conflict{Conflict::Kind::UnfencedWrite, at, cell.write.epoch, cell.write.site};
    }
    if (std::optional<Conflict> conflict = checkReaders(cell, at, agent))
      return conflict;
    setWriter(cell, agent);
  }
  return std::nullopt;
}

void SharedMemory::overwrite(uint32_t address, uint32_t size, const Agent &agent) {
  for (uint32_t at = address; at < address + size; ++at)
    setWriter(cells[at - begin()], agent);
}

void SharedMemory::setWriter(Cell &cell, const Agent &agent) {
  cell.write = {agent.epoch, agent.site};
  cell.writtenByAsync = agent.isAsync;
  if (cell.read.epoch.component == manyReaders)
    unusedReaders.push_back(cell.read.epoch.time);
  cell.read = Access();
}

} // namespace tkc::emulator
