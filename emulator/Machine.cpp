// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/Machine.h"

#include "emulator/models/Barriers.h"

#include "emulator/GlobalAccess.h"
#include "emulator/Models.h"
#include "emulator/amdgpu/Wave.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

namespace tkc::emulator {

static thread_local Thread *runningThread = nullptr;

Thread &current() { return *runningThread; }

void Launch::fail(const std::string &what) {
  const std::lock_guard lock(mutex);
  if (report.empty())
    report = what;
  stopped = true;
}

static std::string nameOf(const Thread &thread) {
  const Block &block = *thread.block;
  return fmt::format("thread {} of block {}", thread.index,
                     block.position.y || block.position.z
                         ? fmt::format("({}, {}, {})", block.position.x, block.position.y, block.position.z)
                         : fmt::format("{}", block.position.x));
}

std::string describeError(const Thread &thread, SiteId site, const std::string &what) {
  return fmt::format("{}: {}: {}", thread.block->cluster.launch.sites->describe(site), nameOf(thread), what);
}

void reportError(SiteId site, const std::string &what) {
  if (!runningThread)
    throw LaunchFailed{site, what};
  Thread &thread = current();
  thread.block->cluster.launch.fail(describeError(thread, site, what));
  thread.fiber.suspend(); // nobody resumes it
  std::abort();
}

void acquire(Thread &thread, const Knowledge &from) { thread.knows.join(from); }

void beginEpoch(Thread &thread) {
  ++thread.time;
  thread.knows.happened.raise(thread.component, thread.time);
}

void release(Thread &thread, Knowledge &to) {
  to.join(thread.knows);
  beginEpoch(thread);
}

Block::Block(Cluster &cluster, uint32_t rank, uint32_t slot, Dim3 position)
    : cluster(cluster), rank(rank), position(position) {
  const Launch &launch = cluster.launch;
  shared.start(slot, launch.traits.staticShared + launch.dynamicShared,
               launch.options->cdna == Cdna::None ? SharedMemory::reserved : 0,
               static_cast<uint32_t>(launch.block.count() * launch.cluster.count()));
  const auto threads = static_cast<uint32_t>(launch.block.count());
  warps.resize((threads + 31) / 32);
  for (uint32_t i = 0; i < warps.size(); ++i) {
    const uint32_t lanes = std::min(32u, threads - 32 * i);
    warps[i].existing = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warps[i].registers = launch.traits.registersPerThread;
  }
  warpgroups.resize((threads + 127) / 128);
  for (Warpgroup &group : warpgroups)
    group.component = cluster.newComponent();
  if (launch.options->cdna != Cdna::None)
    waves = std::make_shared<WaveBlock>(*this);
  running = threads;
}

Cluster::Cluster(Launch &launch, const Worker &worker, Dim3 firstBlock, uint64_t number)
    : launch(launch), number(static_cast<uint32_t>(number)), worker(worker),
      random(launch.options->seed * 1000003 + number) {
  const auto threadsEach = static_cast<uint32_t>(launch.block.count());
  const auto numBlocks = static_cast<uint32_t>(launch.cluster.count());
  components = threadsEach * numBlocks;
  if (launch.options->counters)
    counters.emplace(*launch.options->counters, launch.kernel);
  for (uint32_t rank = 0; rank < numBlocks; ++rank) {
    const Dim3 position{firstBlock.x + rank % launch.cluster.x,
                        firstBlock.y + rank / launch.cluster.x % launch.cluster.y,
                        firstBlock.z + rank / launch.cluster.x / launch.cluster.y};
    blocks.emplace_back(*this, rank, worker.firstSlot + rank * SharedArena::slotBytes, position);
    for (uint32_t i = 0; i < threadsEach; ++i) {
      Thread &thread = threads.emplace_back();
      thread.block = &blocks.back();
      thread.index = i;
      thread.position = {i % launch.block.x, i / launch.block.x % launch.block.y, i / launch.block.x / launch.block.y};
      thread.component = rank * threadsEach + i;
      thread.knows.happened.raise(thread.component, thread.time);
      thread.stackBegin = reinterpret_cast<uint64_t>(worker.stacks.begin(thread.component));
      thread.stackEnd = thread.stackBegin + FiberStacks::bytesEach;
      thread.fiber.start(worker.stacks.end(thread.component), &Cluster::enter, &thread);
      ready.push_back(&thread);
    }
  }
}

void Cluster::enter(void *argument) {
  Thread &thread = *static_cast<Thread *>(argument);
  Cluster &cluster = thread.block->cluster;
  cluster.launch.entry(cluster.launch.arguments);
  cluster.finish(thread);
  thread.fiber.suspend();
}

void Cluster::finish(Thread &thread) {
  for (size_t i = thread.bulkRead; i < thread.bulkGroups.size(); ++i)
    if (!thread.bulkGroups[i].reads.empty())
      reportError(thread.site, "the thread ends without having waited for a bulk copy that reads shared memory");
  if (thread.productsWaited != thread.productsIssued)
    reportError(thread.site, "the thread ends without having waited for its products");
  checkTensorAtEnd(thread);
  if (thread.block->waves)
    thread.block->waves->end(thread);
  thread.finished = true;
  --thread.block->running;
  ++numFinished;
  endAtClusterBarrier(thread);
}

Thread *Cluster::nextThread() {
  if (ready.empty())
    return nullptr;
  if (launch.options->seed != 0)
    std::swap(ready.front(), ready[random() % ready.size()]);
  Thread *thread = ready.front();
  ready.pop_front();
  return thread;
}

bool Cluster::runAnEffect() {
  std::erase_if(effects, [](const std::shared_ptr<Effect> &effect) { return effect->done; });
  if (effects.empty())
    return false;
  const size_t chosen = launch.options->seed ? random() % effects.size() : 0;
  const std::shared_ptr<Effect> effect = effects[chosen];
  effects.erase(effects.begin() + static_cast<std::ptrdiff_t>(chosen));
  try {
    effect->finish();
  } catch (const LaunchFailed &failed) {
    launch.fail(fmt::format("{}: {}", launch.sites->describe(failed.site), failed.what));
  }
  return true;
}

void Cluster::run() {
  while (numFinished < threads.size() && !launch.stopped) {
    if (launch.options->seed != 0 && !effects.empty() && random() % 8 == 0)
      runAnEffect();
    if (Thread *thread = nextThread()) {
      runningThread = thread;
      thread->fiber.resume();
      runningThread = nullptr;
      checkDoubtfulWrite();
    } else if (!runAnEffect()) {
      launch.fail(describeDeadlock());
    }
  }
  while (!launch.stopped && runAnEffect())
    ;
}

void Cluster::wait(WaitList &list, std::function<std::string()> what) {
  Thread &thread = current();
  thread.waitsFor = std::move(what);
  list.threads.push_back(&thread);
  thread.fiber.suspend();
}

void Cluster::wake(WaitList &list) {
  for (Thread *thread : list.threads) {
    thread->waitsFor = nullptr;
    ready.push_back(thread);
  }
  list.threads.clear();
}

void Cluster::yield(Thread &thread) {
  ready.push_back(&thread);
  thread.fiber.suspend();
}

std::shared_ptr<Effect> Cluster::start(std::function<void()> run) {
  auto effect = std::make_shared<Effect>(Effect{std::move(run)});
  if (launch.options->seed != 0 && random() % 4 == 0)
    effect->finish();
  else
    effects.push_back(effect);
  return effect;
}

std::string Cluster::describeDeadlock() const {
  struct Group {
    uint32_t first, last;
    const Thread *thread;
    std::string waitsFor;
  };
  std::vector<Group> groups;
  for (const Thread &thread : threads) {
    if (thread.finished)
      continue;
    std::string waitsFor = thread.waitsFor ? thread.waitsFor() : "nothing";
    if (!groups.empty()) {
      Group &group = groups.back();
      if (group.last + 1 == thread.index && group.thread->block == thread.block && group.thread->site == thread.site &&
          group.waitsFor == waitsFor) {
        group.last = thread.index;
        continue;
      }
    }
    groups.push_back({thread.index, thread.index, &thread, std::move(waitsFor)});
  }
  std::string text = "deadlock:";
  for (const Group &group : groups) {
    text += group.first == group.last ? fmt::format(" thread {}", group.first)
                                      : fmt::format(" threads {} to {}", group.first, group.last);
    text +=
        fmt::format(" of block {} wait{} for {} at {};", group.thread->block->position.x,
                    group.first == group.last ? "s" : "", group.waitsFor, launch.sites->describe(group.thread->site));
  }
  text.pop_back();
  return text;
}

void meet(Thread &thread, const void *operation, uint32_t mask, uint64_t *slots, const char *name,
          const std::function<void(Collective &)> &all) {
  Warp &warp = thread.block->warps[thread.warp()];
  mask &= warp.existing;
  const uint32_t bit = 1u << thread.lane();
  if (!(mask & bit))
    reportError(thread.site,
                fmt::format("lane {} executes `{}` whose mask {:#x} leaves it out", thread.lane(), name, mask));
  std::shared_ptr<Collective> collective;
  for (const std::shared_ptr<Collective> &candidate : warp.open)
    if (candidate->operation == operation && candidate->mask == mask && !(candidate->arrived & bit))
      collective = candidate;
  if (!collective) {
    collective = std::make_shared<Collective>();
    collective->operation = operation;
    collective->mask = mask;
    warp.open.push_back(collective);
  }
  collective->arrived |= bit;
  collective->slots[thread.lane()] = slots;
  collective->threads[thread.lane()] = &thread;
  if (collective->arrived == mask) {
    std::erase(warp.open, collective);
    all(*collective);
    collective->done = true;
    thread.block->cluster.wake(collective->waiting);
    return;
  }
  while (!collective->done)
    thread.block->cluster.wait(collective->waiting, [collective] {
      return fmt::format("lanes {:#x} of its warp", collective->mask & ~collective->arrived);
    });
}

std::string runLaunch(Launch &launch) {
  const auto blocksEach = static_cast<uint32_t>(launch.cluster.count());
  const unsigned workers = static_cast<unsigned>(std::min<uint64_t>(launch.options->workers, launch.numClusters()));
  const SharedArena arena(static_cast<size_t>(workers) * blocksEach);
  launch.progress.resize(workers);
  launch.memory->forgetAccesses();
  const auto work = [&](unsigned number) {
    beginGlobalAccesses();
    const FiberStacks stacks(launch.block.count() * blocksEach);
    const Worker worker{stacks, arena.slot(static_cast<size_t>(number) * blocksEach), launch.progress[number]};
    for (uint64_t i = launch.nextCluster++; i < launch.numClusters() && !launch.stopped; i = launch.nextCluster++)
      Cluster(launch, worker, launch.firstBlock(i), i).run();
    worker.progress.waits = true; // for nothing more
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < workers; ++i)
    others.emplace_back(work, i);
  work(0);
  for (std::thread &other : others)
    other.join();
  return launch.report;
}

} // namespace tkc::emulator
