// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/GlobalShadow.h"

#include <algorithm>
#include <new>

#include <sys/mman.h>

namespace tkc::emulator {
namespace {

constexpr uint64_t wordBytes = 4;
constexpr int timeBits = 20, componentBits = 13, clusterBits = 19;
constexpr uint32_t lastTime = (1u << timeBits) - 1; ///< stands for itself and all later ones, which are not checked

/// A record as a word: never 0, as times begin with 1. Masks are of the four bytes.
struct Record {
  uint32_t mask = 0;                      ///< that this access touched
  uint32_t clusterMask = 0;               ///< that its cluster touched in this way
  uint32_t several = 0;                   ///< of a read: that other clusters read as well
  bool isAtomic = false, isAsync = false; ///< of a write
  uint32_t component = 0, cluster = 0, time = 0;

  static Record decode(uint64_t word, bool isRead) {
    Record record;
    record.time = word & lastTime;
    record.component = word >> timeBits & ((1u << componentBits) - 1);
    record.cluster = word >> (timeBits + componentBits) & ((1u << clusterBits) - 1);
    const auto rest = static_cast<uint32_t>(word >> (timeBits + componentBits + clusterBits));
    record.mask = rest & 15, record.clusterMask = rest >> 4 & 15;
    if (isRead)
      record.several = rest >> 8;
    else
      record.isAtomic = rest >> 8 & 1, record.isAsync = rest >> 9 & 1;
    return record;
  }
  uint64_t encode() const {
    const uint64_t rest = mask | clusterMask << 4 | (several | uint32_t(isAtomic) | uint32_t(isAsync) << 1) << 8;
    return ((rest << clusterBits | cluster) << componentBits | component) << timeBits | time;
  }

  bool isSameStep(const Record &other) const {
    return cluster == other.cluster && component == other.component && time == other.time;
  }
};
static_assert(timeBits + componentBits + clusterBits + 12 == 64);

bool isKnown(const Record &record, const GlobalAgent &agent) {
  const Epoch epoch{record.component, record.time};
  if (record.time == lastTime)
    return true;
  if (record.cluster == agent.cluster)
    return agent.knows.happened.knows(epoch);
  return agent.knows.others && agent.knows.others->knows(record.cluster, epoch);
}

/// Whether the record is of the bytes in `mask`: within a cluster of what the one access touched, else of what any did.
bool touches(const Record &record, uint32_t mask, const GlobalAgent &agent) {
  return (record.cluster == agent.cluster ? record.mask : record.clusterMask) & mask;
}

std::optional<Conflict::Kind> conflictWithWrite(const Record &write, const Record &own, GlobalAccess kind,
                                                const GlobalAgent &agent) {
  if (!touches(write, own.mask, agent) || (write.isAtomic && own.isAtomic))
    return std::nullopt;
  if (!isKnown(write, agent))
    return kind == GlobalAccess::Read ? Conflict::Kind::ReadAfterWrite : Conflict::Kind::WriteAfterWrite;
  if (agent.isAsync && !write.isAsync && write.cluster == agent.cluster && write.time != lastTime &&
      !agent.knows.fenced.knows({write.component, write.time}))
    return Conflict::Kind::UnfencedWrite;
  return std::nullopt;
}

/// Several clusters read it: one of them is another than the agent's.
bool conflictsWithReads(const Record &read, uint32_t mask, const GlobalAgent &agent) {
  if (read.several & mask)
    return agent.knows.others == nullptr;
  return touches(read, mask, agent) && !isKnown(read, agent);
}

/// The record of reads after one more.
Record afterRead(const Record &before, const Record &own) {
  Record record = own;
  if (before.cluster != own.cluster) {
    record = before;
    record.several |= before.clusterMask & own.mask;
    return record;
  }
  record.mask |= before.isSameStep(own) ? before.mask : 0;
  record.clusterMask |= before.clusterMask;
  record.several = before.several;
  return record;
}

Record afterWrite(const Record &before, const Record &own) {
  Record record = own;
  if (before.cluster != own.cluster || before.isAtomic != own.isAtomic)
    return record;
  record.mask |= before.isSameStep(own) ? before.mask : 0;
  record.clusterMask |= before.clusterMask;
  return record;
}

/// Without the bytes that have been written since.
uint64_t without(Record read, uint32_t mask) {
  read.mask &= ~mask, read.clusterMask &= ~mask, read.several &= ~mask;
  return read.clusterMask ? read.encode() : 0;
}

} // namespace

GlobalShadow::GlobalShadow(uint64_t begin, size_t bytes)
    : begin(begin), mapped((bytes + wordBytes) / wordBytes * sizeof(Cell)) {
  void *memory =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); // zeros
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  cells = static_cast<Cell *>(memory);
}

GlobalShadow::~GlobalShadow() { munmap(cells, mapped); }

void GlobalShadow::forget() {
  if (used.exchange(false))
    madvise(cells, mapped, MADV_DONTNEED);
}

std::optional<GlobalConflict> GlobalShadow::access(uint64_t address, uint64_t size, GlobalAccess kind,
                                                   const GlobalAgent &agent) {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (agent.cluster >> clusterBits || agent.epoch.component >> componentBits)
    return std::nullopt;
  if (!used.load(relaxed))
    used.store(true, relaxed);
  Record own;
  own.isAtomic = kind == GlobalAccess::Atomic, own.isAsync = agent.isAsync && kind != GlobalAccess::Read;
  own.component = agent.epoch.component, own.cluster = agent.cluster, own.time = std::min(agent.epoch.time, lastTime);
  const uint64_t end = address + size;
  for (uint64_t at = address; at < end;) {
    const uint64_t offset = at - begin, next = std::min(end, begin + (offset / wordBytes + 1) * wordBytes);
    own.mask = own.clusterMask = ((1u << (next - at)) - 1) << (offset % wordBytes);
    Cell &cell = cells[offset / wordBytes];
    const uint64_t writeWord = cell.write.load(relaxed), readWord = cell.read.load(relaxed);
    const Record write = Record::decode(writeWord, false), read = Record::decode(readWord, true);
    if (writeWord)
      if (const auto conflict = conflictWithWrite(write, own, kind, agent))
        return GlobalConflict{
            *conflict, at, write.cluster, {write.component, write.time}, cell.writeSite.load(relaxed)};
    if (kind == GlobalAccess::Read) {
      if (const uint64_t word = (readWord ? afterRead(read, own) : own).encode(); word != readWord) {
        cell.readSite.store(agent.site, relaxed);
        cell.read.store(word, relaxed);
      }
    } else {
      if (readWord && conflictsWithReads(read, own.mask, agent))
        return GlobalConflict{
            Conflict::Kind::WriteAfterRead, at, read.cluster, {read.component, read.time}, cell.readSite.load(relaxed)};
      cell.writeSite.store(agent.site, relaxed);
      cell.write.store((writeWord ? afterWrite(write, own) : own).encode(), relaxed);
      if (readWord)
        cell.read.store(without(read, own.mask), relaxed);
    }
    at = next;
  }
  return std::nullopt;
}

void GlobalShadow::overwrite(uint64_t address, uint64_t size, const GlobalAgent &agent) {
  for (uint64_t word = (address - begin) / wordBytes; word <= (address + size - 1 - begin) / wordBytes; ++word)
    cells[word].write.store(0, std::memory_order_relaxed), cells[word].read.store(0, std::memory_order_relaxed);
  access(address, size, GlobalAccess::Write, agent);
}

} // namespace tkc::emulator
