// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every access of an instruction to memory, checked before it is made.
#include "emulator/GlobalAccess.h"

#include <fmt/core.h>

#include <cstring>

namespace tkc::emulator {
namespace {

/// "thread 5" or the engine that a component stands for.
std::string whoIs(const Cluster &cluster, Epoch epoch) {
  if (epoch.component < cluster.threads.size())
    return fmt::format("thread {}", cluster.threads[epoch.component].index);
  return "an asynchronous operation";
}

std::string describe(const Cluster &cluster, const Conflict &conflict, uint32_t base, AccessKind kind, bool isAsync) {
  const std::string subject = isAsync ? "an asynchronous operation " : "";
  const std::string place = fmt::format("byte {} of shared memory", conflict.address - base);
  const std::string other =
      fmt::format("{} at {}", whoIs(cluster, conflict.other), cluster.launch.sites->describe(conflict.otherSite));
  switch (conflict.kind) {
  case Conflict::Kind::Uninitialised:
    return fmt::format("{}{} {}, which nobody has written", subject, verb(kind), place);
  case Conflict::Kind::ReadAfterWrite:
    return fmt::format("race: {}reads {} without waiting for the write by {}", subject, place, other);
  case Conflict::Kind::WriteAfterWrite:
    return fmt::format("race: {}writes {} without waiting for the write by {}", subject, place, other);
  case Conflict::Kind::WriteAfterRead:
    return fmt::format("race: {}writes {} without waiting for the read by {}", subject, place, other);
  case Conflict::Kind::UnfencedWrite:
    return fmt::format("race: {}{} {} with no proxy fence after the write by {}", subject, verb(kind), place, other);
  case Conflict::Kind::UnfencedRead:
    return fmt::format("race: {}{} {} with no proxy fence after the read by {}", subject, verb(kind), place, other);
  }
  return {};
}

std::optional<Conflict> accessShared(SharedMemory &memory, uint32_t address, uint32_t size, AccessKind kind,
                                     const Agent &agent) {
  switch (kind) {
  case AccessKind::Read:
  case AccessKind::StrongRead:
    return memory.read(address, size, agent);
  case AccessKind::Write:
  case AccessKind::StrongWrite:
    return memory.write(address, size, agent);
  case AccessKind::Atomic: // atomics do not race with each other; what they find must have been written
    return std::nullopt;
  }
  return std::nullopt;
}

/// A write over another thread's, unordered, which is harmless if it writes what stands there.
struct DoubtfulWrite {
  Launch *launch = nullptr; ///< null: none
  uint64_t address = 0, size = 0;
  char before[16];
  std::string report;
};

thread_local DoubtfulWrite doubtfulWrite;

/// Remembers what stands there; an error where that is too much.
void doubtful(const Thread &thread, uint64_t address, uint64_t size, SiteId site, const std::string &report) {
  if (size > sizeof doubtfulWrite.before)
    reportError(site, report);
  doubtfulWrite.launch = &thread.block->cluster.launch;
  doubtfulWrite.address = address, doubtfulWrite.size = size;
  std::memcpy(doubtfulWrite.before, reinterpret_cast<const void *>(address), size);
  doubtfulWrite.report = describeError(thread, site, report);
}

} // namespace

void checkDoubtfulWrite() {
  if (!doubtfulWrite.launch)
    return;
  Launch &launch = *doubtfulWrite.launch;
  doubtfulWrite.launch = nullptr;
  if (std::memcmp(doubtfulWrite.before, reinterpret_cast<const void *>(doubtfulWrite.address), doubtfulWrite.size) != 0)
    launch.fail(doubtfulWrite.report);
}

Block *blockOfShared(Cluster &cluster, uint64_t address, uint64_t size) {
  for (Block &block : cluster.blocks)
    if (block.shared.contains(address, size))
      return &block;
  return nullptr;
}

void checkBlockRuns(const Block &block, const Thread &by, SiteId site) {
  if (block.running == 0 && by.block != &block)
    reportError(site, fmt::format("works on shared memory of block {} of the cluster, which has ended", block.rank));
}

void *checkedAccess(Thread &thread, uint64_t address, uint64_t size, uint64_t alignment, AccessKind kind, SiteId site) {
  checkDoubtfulWrite();
  Cluster &cluster = thread.block->cluster;
  cluster.progress().passes.fetch_add(1, std::memory_order_release);
  if (address % alignment != 0)
    reportError(site, fmt::format("misaligned: {} {} bytes at {:#x}, which is no multiple of {}", verb(kind), size,
                                  address, alignment));
  if (address >= 0x100000000) {
    const std::string report = checkGlobal(thread, address, size, kind, site);
    if (!report.empty())
      doubtful(thread, address, size, site, report);
    return reinterpret_cast<void *>(address);
  }
  Block *block = blockOfShared(cluster, address, size);
  if (!block)
    reportError(site, fmt::format("out of bounds: {} {} bytes at byte {} of shared memory, of which the kernel has {}",
                                  verb(kind), size, int64_t(address) - thread.block->shared.begin(),
                                  thread.block->shared.end() - thread.block->shared.begin()));
  if (cluster.counters && kind != AccessKind::Atomic)
    cluster.counters->access(thread, static_cast<uint32_t>(address), static_cast<uint32_t>(size),
                             kind == AccessKind::Write || kind == AccessKind::StrongWrite, site);
  const Agent agent{thread.knows, thread.epoch(), false, site};
  if (const std::optional<Conflict> conflict =
          accessShared(block->shared, static_cast<uint32_t>(address), static_cast<uint32_t>(size), kind, agent)) {
    const std::string report = describe(cluster, *conflict, block->shared.begin(), kind, false);
    if (conflict->kind != Conflict::Kind::WriteAfterWrite)
      reportError(site, report);
    doubtful(thread, address, size, site, report);
    block->shared.overwrite(static_cast<uint32_t>(address), static_cast<uint32_t>(size), agent);
  }
  return reinterpret_cast<void *>(address);
}

void checkedAsyncAccess(Cluster &cluster, uint32_t address, uint32_t size, AccessKind kind, const Agent &agent,
                        const Thread &by) {
  Block *block = blockOfShared(cluster, address, size);
  if (!block)
    reportError(
        agent.site,
        fmt::format("out of bounds: an asynchronous operation {} {} bytes at byte {} of shared memory, of which "
                    "the kernel has {}",
                    verb(kind), size, int64_t(address) - by.block->shared.begin(),
                    by.block->shared.end() - by.block->shared.begin()));
  checkBlockRuns(*block, by, agent.site);
  if (const std::optional<Conflict> conflict = accessShared(block->shared, address, size, kind, agent))
    reportError(agent.site, describe(cluster, *conflict, block->shared.begin(), kind, true));
}

} // namespace tkc::emulator
