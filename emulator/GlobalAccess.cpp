// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/GlobalAccess.h"

#include <fmt/core.h>

#include <cstring>
#include <thread>

namespace tkc::emulator {
namespace {

/// Allocations that this thread of the host met last.
struct RecentAllocations {
  GlobalMemory::Allocation entries[4];
  unsigned next = 0;

  const GlobalMemory::Allocation *find(const Launch &of, uint64_t address, uint64_t size) {
    for (const GlobalMemory::Allocation &entry : entries)
      if (entry.contains(address, size))
        return &entry;
    const GlobalMemory::Allocation found = of.memory->find(address, size);
    if (found.end == 0)
      return nullptr;
    return &(entries[next++ % 4] = found);
  }
};

thread_local RecentAllocations recentAllocations;

GlobalAccess accessOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::Read:
    return GlobalAccess::Read;
  case AccessKind::Write:
    return GlobalAccess::Write;
  case AccessKind::Atomic:
  case AccessKind::StrongRead:
  case AccessKind::StrongWrite:
    return GlobalAccess::Atomic;
  }
  return GlobalAccess::Read;
}

std::string whoIs(const Cluster &cluster, const GlobalConflict &conflict) {
  const Launch &launch = cluster.launch;
  const auto threadsEach = static_cast<uint32_t>(launch.block.count());
  const Dim3 first = launch.firstBlock(conflict.cluster);
  const uint32_t rank = conflict.other.component / threadsEach;
  if (rank >= launch.cluster.count())
    return fmt::format("an asynchronous operation of block {}", first.x);
  return fmt::format("thread {} of block {}", conflict.other.component % threadsEach,
                     first.x + rank % launch.cluster.x);
}

std::string describe(const Cluster &cluster, const GlobalMemory::Allocation &allocation, const GlobalConflict &conflict,
                     bool isAsync) {
  const std::string subject = isAsync ? "an asynchronous operation " : "";
  const std::string place =
      fmt::format("byte {} of the {} bytes of global memory at {:#x}", conflict.address - allocation.begin,
                  allocation.end - allocation.begin, allocation.begin);
  const std::string other =
      fmt::format("{} at {}", whoIs(cluster, conflict), cluster.launch.sites->describe(conflict.otherSite));
  switch (conflict.kind) {
  case Conflict::Kind::ReadAfterWrite:
    return fmt::format("race: {}reads {} without an order after the write by {}", subject, place, other);
  case Conflict::Kind::WriteAfterWrite:
    return fmt::format("race: {}writes {} without an order after the write by {}", subject, place, other);
  case Conflict::Kind::WriteAfterRead:
    return fmt::format("race: {}writes {} without an order after the read by {}", subject, place, other);
  case Conflict::Kind::UnfencedWrite:
    return fmt::format("race: {}accesses {} with no proxy fence after the write by {}", subject, place, other);
  case Conflict::Kind::UnfencedRead: // of shared memory alone
  case Conflict::Kind::Uninitialised:
    break;
  }
  return {};
}

/// Until what the other workers have recorded is in memory as well: each has come back to the emulator since, or waits.
void waitForStores(Cluster &cluster) {
  WorkerProgress &own = cluster.progress();
  own.waits = true;
  for (WorkerProgress &other : cluster.launch.progress)
    for (const uint64_t seen = other.passes;
         &other != &own && other.passes == seen && !other.waits && !cluster.launch.stopped;)
      std::this_thread::yield();
  own.waits = false;
}

/// A write over another's may write what stands there.
bool isDoubtful(const GlobalConflict &conflict, AccessKind kind) {
  return kind == AccessKind::Write && conflict.kind == Conflict::Kind::WriteAfterWrite;
}

} // namespace

const char *verb(AccessKind kind) {
  switch (kind) {
  case AccessKind::Read:
  case AccessKind::StrongRead:
    return "reads";
  case AccessKind::Write:
  case AccessKind::StrongWrite:
    return "writes";
  case AccessKind::Atomic:
    return "updates";
  }
  return "";
}

void beginGlobalAccesses() { recentAllocations = RecentAllocations(); }

std::string checkGlobal(Thread &thread, uint64_t address, uint64_t size, AccessKind kind, SiteId site) {
  Cluster &cluster = thread.block->cluster;
  const GlobalMemory::Allocation *allocation = recentAllocations.find(cluster.launch, address, size);
  if (!allocation)
    reportError(
        site, fmt::format("out of bounds: {} {} bytes at {:#x}, which no allocation holds", verb(kind), size, address));
  const GlobalAgent agent{thread.knows, thread.epoch(), cluster.number, false, site};
  const std::optional<GlobalConflict> conflict = allocation->shadow->access(address, size, accessOf(kind), agent);
  if (!conflict)
    return {};
  const std::string report = describe(cluster, *allocation, *conflict, false);
  if (!isDoubtful(*conflict, kind))
    reportError(site, report);
  waitForStores(cluster);
  allocation->shadow->overwrite(address, size, agent);
  return report;
}

void checkAsyncGlobal(Cluster &cluster, uint64_t address, uint64_t size, AccessKind kind, const Agent &agent,
                      const void *data) {
  const GlobalMemory::Allocation *allocation = recentAllocations.find(cluster.launch, address, size);
  if (!allocation)
    reportError(agent.site, fmt::format("out of bounds: a copy of {} bytes of global memory at {:#x}, which no "
                                        "allocation holds",
                                        size, address));
  const GlobalAgent own{agent.knows, agent.epoch, cluster.number, agent.isAsync, agent.site};
  const std::optional<GlobalConflict> conflict = allocation->shadow->access(address, size, accessOf(kind), own);
  if (!conflict)
    return;
  if (isDoubtful(*conflict, kind) && data) {
    waitForStores(cluster);
    if (std::memcmp(data, reinterpret_cast<const void *>(address), size) == 0)
      return allocation->shadow->overwrite(address, size, own);
  }
  reportError(agent.site, describe(cluster, *allocation, *conflict, true));
}

void releaseToOthers(Thread &thread, uint64_t address) {
  Launch &launch = thread.block->cluster.launch;
  const std::lock_guard lock(launch.handedOnMutex);
  std::shared_ptr<const OtherClusters> &variable = launch.handedOn[address];
  auto all = variable ? std::make_shared<OtherClusters>(*variable) : std::make_shared<OtherClusters>();
  all->add(thread.block->cluster.number, thread.knows.happened);
  if (thread.knows.others)
    all->join(*thread.knows.others);
  variable = std::move(all);
  beginEpoch(thread);
}

void acquireFromOthers(Thread &thread, uint64_t address) {
  Launch &launch = thread.block->cluster.launch;
  const std::lock_guard lock(launch.handedOnMutex);
  const auto found = launch.handedOn.find(address);
  if (found == launch.handedOn.end())
    return;
  Knowledge learned;
  learned.others = found->second;
  acquire(thread, learned);
}

} // namespace tkc::emulator
