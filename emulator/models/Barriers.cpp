// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named barriers, mbarriers and cluster barriers. Source: PTX ISA, "bar", "mbarrier", "barrier.cluster".
#include "emulator/models/Barriers.h"

#include <fmt/core.h>

namespace tkc::emulator {

void checkPublished(const Mbarrier &barrier, SiteId site) {
  if (!barrier.fenced)
    reportError(site,
                "an mbarrier whose initialisation no `fence.mbarrier_init` or `fence.proxy.async` has published to "
                "other blocks, copies and products");
}

Mbarrier &mbarrierAt(Thread &thread, uint32_t address, SiteId site) {
  Block *block = blockOfShared(thread.block->cluster, address, 8);
  if (!block)
    reportError(site, fmt::format("out of bounds: an mbarrier at byte {} of shared memory, of which the kernel has {}",
                                  int64_t(address) - thread.block->shared.begin(),
                                  thread.block->shared.end() - thread.block->shared.begin()));
  checkBlockRuns(*block, thread, site);
  const auto found = block->mbarriers.find(address);
  if (found == block->mbarriers.end())
    reportError(site, fmt::format("the mbarrier at byte {} of shared memory has not been initialised",
                                  address - block->shared.begin()));
  if (block != thread.block)
    checkPublished(found->second, site);
  return found->second;
}

void publishMbarriers(Block &block) {
  for (auto &[address, barrier] : block.mbarriers)
    barrier.fenced = true;
}

void completePhaseIfDue(Cluster &cluster, Mbarrier &barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0)
    return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.completed.join(barrier.gathering);
  cluster.wake(barrier.waiting);
}

namespace {

/// Bytes that a phase waits for, and bytes that came without having been expected, are 2^20 - 1 at most: PTX ISA,
/// "Contents of the mbarrier object".
void expectBytes(Mbarrier &barrier, int32_t bytes, SiteId site) {
  constexpr int64_t most = (1 << 20) - 1;
  barrier.bytes += bytes;
  if (bytes < 0 || barrier.bytes > most)
    reportError(site, fmt::format("an mbarrier that expects {} bytes; it takes up to {}", barrier.bytes, most));
}

void arriveAt(Thread &thread, Mbarrier &barrier, int64_t arrivals, SiteId site) {
  if (barrier.pending < arrivals)
    reportError(site, fmt::format("more arrivals at an mbarrier than the {} of its phase", barrier.count));
  release(thread, barrier.gathering);
  barrier.pending -= arrivals;
  completePhaseIfDue(thread.block->cluster, barrier);
}

// ---- mbarriers

void initialise(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  const auto address = static_cast<uint32_t>(slots[0]);
  Block *block = blockOfShared(thread.block->cluster, address, 8);
  if (!block || address % 8 != 0)
    reportError(instruction.site, fmt::format("an mbarrier at byte {} of shared memory, which is {}",
                                              int64_t(address) - thread.block->shared.begin(),
                                              block ? "no multiple of 8" : "out of bounds"));
  const auto count = static_cast<int32_t>(slots[1]);
  if (count < 1 || count >= 1 << 20)
    reportError(instruction.site, fmt::format("an mbarrier of {} arrivals; it takes 1 to 1048575", count));
  Mbarrier &barrier = block->mbarriers[address];
  const uint32_t component = barrier.component ? barrier.component : thread.block->cluster.newComponent();
  barrier = Mbarrier();
  barrier.count = barrier.pending = count;
  barrier.component = component;
}

void invalidate(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  const auto address = static_cast<uint32_t>(slots[0]);
  mbarrierAt(thread, address, instruction.site);
  blockOfShared(thread.block->cluster, address, 8)->mbarriers.erase(address);
}

/// `mbarrier.arrive…  state, [address]{, count}`
void arrive(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  const auto address = static_cast<uint32_t>(slots[1] + static_cast<uint64_t>(instruction.operands[1].offset));
  Mbarrier &barrier = mbarrierAt(thread, address, instruction.site);
  const int64_t arrivals = instruction.operands.size() > 2 ? static_cast<int32_t>(slots[2]) : 1;
  slots[0] = barrier.phase;
  arriveAt(thread, barrier, arrivals, instruction.site);
}

void arriveExpecting(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  Mbarrier &barrier = mbarrierAt(thread, static_cast<uint32_t>(slots[1]), instruction.site);
  slots[0] = barrier.phase;
  expectBytes(barrier, static_cast<int32_t>(slots[2]), instruction.site);
  arriveAt(thread, barrier, 1, instruction.site);
}

/// `mbarrier.expect_tx… [address], bytes`
void expect(const BoundInstruction &instruction, uint64_t *slots) {
  expectBytes(mbarrierAt(current(), static_cast<uint32_t>(slots[0]), instruction.site), static_cast<int32_t>(slots[1]),
              instruction.site);
}

bool isComplete(const Mbarrier &barrier, uint64_t parity) { return (barrier.phase & 1) != (parity & 1); }

/// try_wait may suspend the thread for a time that nobody knows; here it is until the phase is complete, so that loops
/// around it end at once and a phase that never completes is seen.
void tryWait(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  const auto address = static_cast<uint32_t>(slots[1] + static_cast<uint64_t>(instruction.operands[1].offset));
  Mbarrier &barrier = mbarrierAt(thread, address, instruction.site);
  while (!isComplete(barrier, slots[2]))
    thread.block->cluster.wait(barrier.waiting, [&barrier, &thread, address, parity = slots[2] & 1] {
      return fmt::format("the mbarrier at byte {} of shared memory, parity {}, {} arrivals and {} bytes missing",
                         address - thread.block->shared.begin(), parity, barrier.pending, barrier.bytes);
    });
  acquire(thread, barrier.completed);
  slots[0] = 1;
}

void testWait(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  const auto address = static_cast<uint32_t>(slots[1] + static_cast<uint64_t>(instruction.operands[1].offset));
  Mbarrier &barrier = mbarrierAt(thread, address, instruction.site);
  slots[0] = isComplete(barrier, slots[2]);
  if (slots[0])
    acquire(thread, barrier.completed);
  else
    thread.block->cluster.yield(thread);
}

void fenceInitialisation(const BoundInstruction &, uint64_t *) { publishMbarriers(*current().block); }

// ---- named barriers

uint32_t wholeBlock(const Thread &thread) { return static_cast<uint32_t>(thread.block->cluster.launch.block.count()); }

/// All have arrived: those who wait go on, and the barrier is as new.
void complete(NamedBarrier &barrier, Cluster &cluster) {
  const std::shared_ptr<NamedBarrier::Generation> generation = std::move(barrier.generation);
  generation->complete = true;
  generation->knowledge = std::move(barrier.gathering);
  barrier = NamedBarrier();
  cluster.wake(generation->waiting);
}

void arriveAtNamed(Thread &thread, uint32_t id, uint32_t threads, SiteId site) {
  if (id > 15)
    reportError(site, fmt::format("named barrier {}; there are 0 to 15", id));
  NamedBarrier &barrier = thread.block->namedBarriers[id];
  if (barrier.arrived == 0)
    barrier.expected = threads;
  else if (barrier.expected != threads)
    reportError(site, fmt::format("named barrier {} of {} threads, at which others arrive as one of {}", id, threads,
                                  barrier.expected));
  if (threads == 0 || (threads % 32 != 0 && threads != wholeBlock(thread)))
    reportError(site, fmt::format("named barrier {} of {} threads, which is no multiple of a warp", id, threads));
  release(thread, barrier.gathering);
  if (++barrier.arrived < barrier.expected)
    return;
  complete(barrier, thread.block->cluster);
}

void syncNamed(Thread &thread, uint32_t id, uint32_t threads, SiteId site) {
  const std::shared_ptr<NamedBarrier::Generation> generation = thread.block->namedBarriers[id & 15].generation;
  arriveAtNamed(thread, id, threads, site);
  while (!generation->complete)
    thread.block->cluster.wait(generation->waiting, [&thread, id, threads] {
      return fmt::format("named barrier {}, at which {} of {} threads arrived", id,
                         thread.block->namedBarriers[id].arrived, threads);
    });
  acquire(thread, generation->knowledge);
}

/// `bar.sync id{, threads}`, also `barrier.sync` and `barrier.cta.sync`.
void sync(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  syncNamed(thread, static_cast<uint32_t>(slots[0]),
            instruction.operands.size() > 1 ? static_cast<uint32_t>(slots[1]) : wholeBlock(thread), instruction.site);
}

void arriveNamed(const BoundInstruction &instruction, uint64_t *slots) {
  arriveAtNamed(current(), static_cast<uint32_t>(slots[0]), static_cast<uint32_t>(slots[1]), instruction.site);
}

void syncWarp(const BoundInstruction &instruction, uint64_t *slots) {
  warpBarrier(current(), static_cast<uint32_t>(slots[0]));
}

// ---- clusters

/// All that have not ended have arrived: PTX ISA, "barrier.cluster".
void completeClusterIfDue(Cluster &cluster) {
  NamedBarrier &barrier = cluster.clusterBarrier;
  if (barrier.arrived > 0 && barrier.arrived - barrier.ended + cluster.finishedThreads() >= cluster.threads.size())
    complete(barrier, cluster);
}

void arriveAtCluster(const BoundInstruction &, uint64_t *) {
  Thread &thread = current();
  Cluster &cluster = thread.block->cluster;
  NamedBarrier &barrier = cluster.clusterBarrier;
  release(thread, barrier.gathering);
  thread.clusterGeneration = barrier.generation;
  ++barrier.arrived;
  completeClusterIfDue(cluster);
}

void waitForCluster(const BoundInstruction &instruction, uint64_t *) {
  Thread &thread = current();
  const std::shared_ptr<NamedBarrier::Generation> generation = std::move(thread.clusterGeneration);
  if (!generation)
    reportError(instruction.site, "waits for the cluster's barrier without having arrived at it");
  while (!generation->complete)
    thread.block->cluster.wait(generation->waiting, [] { return std::string("the cluster's barrier"); });
  acquire(thread, generation->knowledge);
}

constexpr Model table[] = {
    {"mbarrier.init.*", initialise},
    {"mbarrier.inval.*", invalidate},
    {"mbarrier.arrive.expect_tx.*", arriveExpecting},
    {"mbarrier.arrive.*", arrive},
    {"mbarrier.expect_tx.*", expect},
    {"mbarrier.try_wait.parity.*", tryWait},
    {"mbarrier.test_wait.parity.*", testWait},
    {"fence.mbarrier_init.release.cluster", fenceInitialisation},
    {"bar.warp.sync", syncWarp},
    {"bar.sync", sync},
    {"bar.cta.sync", sync},
    {"barrier.sync*", sync},
    {"barrier.cta.sync*", sync},
    {"bar.arrive", arriveNamed},
    {"bar.cta.arrive", arriveNamed},
    {"barrier.arrive*", arriveNamed},
    {"barrier.cta.arrive*", arriveNamed},
    {"barrier.cluster.arrive*", arriveAtCluster},
    {"barrier.cluster.wait*", waitForCluster},
};

} // namespace

void endAtClusterBarrier(Thread &thread) {
  Cluster &cluster = thread.block->cluster;
  if (thread.clusterGeneration && thread.clusterGeneration == cluster.clusterBarrier.generation)
    ++cluster.clusterBarrier.ended;
  completeClusterIfDue(cluster);
}

std::span<const Model> barrierModels() { return table; }

void warpBarrier(Thread &thread, uint32_t mask) {
  // What each lane knew when it came, for all.
  static const char operation = 0;
  meet(thread, &operation, mask, nullptr, "bar.warp.sync", [&](Collective &lanes) {
    Knowledge all;
    for (Thread *lane : lanes.threads)
      if (lane)
        release(*lane, all);
    for (Thread *lane : lanes.threads)
      if (lane)
        acquire(*lane, all);
  });
}

void blockBarrier(uint32_t id, uint32_t threads) {
  Thread &thread = current();
  syncNamed(thread, id, threads ? threads : wholeBlock(thread), thread.site);
}

} // namespace tkc::emulator
