// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine that a launch runs on: threads, warps, blocks and clusters, and what they wait for.
//
// A cluster (mostly of one block) is one thread of the host, its threads are fibers of it. A fiber runs until it waits;
// everything that waits does so through a WaitList, so that a cluster that cannot go on says who waits where.
// Asynchronous work is an Effect: it happens when somebody who waits needs it, or when nobody could go on otherwise,
// or, in a run with a seed, at some moment before.
#pragma once

#include "emulator/Clock.h"
#include "emulator/Counters.h"
#include "emulator/Fiber.h"
#include "emulator/GlobalMemory.h"
#include "emulator/SharedMemory.h"
#include "emulator/Sites.h"
#include "emulator/TensorMemory.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tkc::emulator {

class Block;
class Cluster;
class WaveBlock;
struct BoundInstruction;
struct Product;
struct TensorMoves;
struct TensorQueue;
struct Thread;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// Of AMD's GPUs those that are modelled.
enum class Cdna : uint8_t { None, Cdna2, Cdna3, Cdna4 };

struct Options {
  uint64_t seed = 0; ///< 0: threads in order, effects as late as can be; others: in random order
  unsigned workers = 1;
  int architecture = 90;        ///< as in sm_90
  Cdna cdna = Cdna::None;       ///< for gfx90a, gfx942 and gfx950
  Counters *counters = nullptr; ///< where to count; null: nowhere
  bool captures = false;        ///< streams say that they are being captured
};

/// What a kernel needs by itself.
struct KernelTraits {
  uint32_t staticShared = 0;       ///< bytes
  uint32_t registersPerThread = 0; ///< at the start, for setmaxnreg; 0: not known
  Dim3 cluster;                    ///< by `__cluster_dims__`
  uint32_t maxThreads = 1024;      ///< of a block, by `__launch_bounds__`
};

/// How far a thread of the host that runs clusters has come, for others who want to know what it has stored.
struct WorkerProgress {
  std::atomic<uint64_t> passes = 0; ///< accesses begun: what stores came before are in memory
  std::atomic<bool> waits = false;  ///< and will store nothing meanwhile
};

/// One launch, shared by the threads of the host that run its clusters.
struct Launch {
  std::string kernel;
  void (*entry)(void **arguments) = nullptr;
  void **arguments = nullptr;
  KernelTraits traits;
  Dim3 grid, block, cluster;
  uint32_t dynamicShared = 0;
  const Options *options = nullptr;
  const Sites *sites = nullptr;
  const GlobalMemory *memory = nullptr;
  std::array<std::byte, 256> hiddenArguments{}; ///< of AMD's: what a kernel is told without asking

  std::atomic<uint64_t> nextCluster = 0; ///< those before it have started, or others took them over

  uint64_t numClusters() const { return grid.count() / cluster.count(); }
  /// blockIdx of the first block of the i-th.
  Dim3 firstBlock(uint64_t i) const {
    const uint32_t x = grid.x / cluster.x, y = grid.y / cluster.y;
    return {static_cast<uint32_t>(i % x) * cluster.x, static_cast<uint32_t>(i / x % y) * cluster.y,
            static_cast<uint32_t>(i / x / y) * cluster.z};
  }

  std::deque<WorkerProgress> progress; ///< of the workers
  std::mutex handedOnMutex;
  std::map<uint64_t, std::shared_ptr<const OtherClusters>> handedOn; ///< by atomic variables of global memory

  std::atomic<bool> stopped = false;
  std::mutex mutex;
  std::string report; ///< the first thing that went wrong

  void fail(const std::string &what);
};

struct WaitList {
  std::vector<Thread *> threads;
};

/// Something asynchronous: `run` does it, once.
struct Effect {
  std::function<void()> run;
  bool done = false;

  void finish() {
    if (!done) {
      done = true;
      run();
    }
  }
};

/// Products of one warpgroup: models/Wgmma.cpp.
struct Warpgroup {
  std::map<uint32_t, std::shared_ptr<Product>> products; ///< whose results may still be asked for, by number
  uint32_t executed = 0;
  uint32_t component = 0;
  WaitList waiting;
};

struct NamedBarrier {
  uint32_t expected = 0, arrived = 0;
  uint32_t ended = 0; ///< of the cluster's: those of `arrived` that have ended since
  Knowledge gathering;
  struct Generation {
    bool complete = false;
    Knowledge knowledge;
    WaitList waiting;
  };
  std::shared_ptr<Generation> generation = std::make_shared<Generation>();
};

struct Thread {
  Fiber fiber;
  uint64_t stackBegin = 0, stackEnd = 0;
  Block *block = nullptr;
  uint32_t index = 0; ///< in the block
  Dim3 position;      ///< threadIdx
  uint32_t component = 0;
  uint32_t time = 1;
  Knowledge knows;
  bool finished = false;
  bool fencedForAll = false; ///< by a fence for the whole GPU: its atomic accesses hand on what it knows

  std::function<std::string()> waitsFor; ///< empty: it can run
  SiteId site = 0;                       ///< of the latest instruction with a model

  std::shared_ptr<NamedBarrier::Generation> clusterGeneration; ///< between arrival and wait

  // Bulk copies from shared memory, in groups: models/Tma.cpp.
  struct BulkGroup {
    std::vector<std::shared_ptr<Effect>> reads, writes;
  };
  std::vector<BulkGroup> bulkGroups;                  ///< the last is open
  uint32_t bulkComponent = 0, bulkWriteComponent = 0; ///< of reading shared memory, and of writing global memory
  uint32_t bulkClosed = 0;                            ///< groups
  uint32_t bulkRead = 0;                              ///< groups that the thread knows to have read their shared memory

  // cp.async, in groups: models/CpAsync.cpp.
  std::vector<std::vector<std::shared_ptr<Effect>>> copyGroups{{}}; ///< the last is open
  uint32_t copyComponent = 0;

  // Products: models/Wgmma.cpp.
  uint32_t productsIssued = 0;
  uint32_t productsWaited = 0;         ///< that it has waited for
  std::vector<uint32_t> productGroups; ///< products issued at each commit
  bool registersFenced = false;        ///< by wgmma.fence, since registers were touched last

  // Tensor memory: models/TensorMemory.cpp, models/Tcgen05.cpp.
  Clock tensorOrder;                        ///< accesses that are over for this thread's next ones
  std::shared_ptr<TensorQueue> tensorQueue; ///< of products and copies that it issues

  uint32_t warp() const { return index / 32; }
  uint32_t lane() const { return index % 32; }
  Epoch epoch() const { return {component, time}; }
};

/// Lanes that came to the same collective.
struct Collective {
  const void *operation;
  uint32_t mask, arrived = 0;
  uint64_t *slots[32] = {};
  Thread *threads[32] = {};
  bool done = false;
  WaitList waiting;
};

struct Warp {
  std::vector<std::shared_ptr<Collective>> open;
  uint32_t existing = 0; ///< lanes that the block has
  uint32_t registers = 0;
  std::vector<const BoundInstruction *> resizes; ///< setmaxnreg
  std::shared_ptr<TensorMoves> tensorMoves;      ///< loads and stores: models/TensorMemory.cpp
};

struct Mbarrier {
  int64_t count = 0;   ///< arrivals of a phase
  int64_t pending = 0; ///< that are still to come in this one
  int64_t bytes = 0;   ///< announced and not arrived
  uint32_t phase = 0;  ///< phases completed
  Knowledge gathering, completed;
  uint32_t component = 0, copies = 0; ///< of the copies that complete here
  bool fenced = false;                ///< its initialisation was published to copies, products and other blocks
  WaitList waiting;
};

class Block {
public:
  Block(Cluster &cluster, uint32_t rank, uint32_t slot, Dim3 position);

  Cluster &cluster;
  uint32_t rank;
  Dim3 position; ///< blockIdx
  SharedMemory shared;
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  std::map<uint32_t, NamedBarrier> namedBarriers;
  std::map<uint32_t, Mbarrier> mbarriers; ///< by address
  uint32_t registerPool = 0;
  WaitList waitingForRegisters;
  TensorMemory tensor;
  WaitList waitingForTensor;        ///< to allocate
  uint32_t running = 0;             ///< threads that have not finished
  std::shared_ptr<WaveBlock> waves; ///< on AMD's GPUs
};

/// Memory that the clusters of one worker use one after another.
struct Worker {
  const FiberStacks &stacks;
  uint32_t firstSlot; ///< address of the shared memory of the cluster's first block
  WorkerProgress &progress;
};

class Cluster {
public:
  Cluster(Launch &launch, const Worker &worker, Dim3 firstBlock, uint64_t number);

  /// Until all threads have finished, or the launch is stopped.
  void run();

  /// The running thread waits until somebody wakes the list. It may find that its condition does not hold yet. `what`
  /// says what it waits for, as things stand when it is asked.
  void wait(WaitList &list, std::function<std::string()> what);
  void wake(WaitList &list);
  /// Lets others run.
  void yield(Thread &thread);

  std::shared_ptr<Effect> start(std::function<void()> run);

  uint32_t newComponent() { return components++; }

  WorkerProgress &progress() const { return worker.progress; }
  [[nodiscard]] size_t finishedThreads() const { return numFinished; }

  Launch &launch;
  const uint32_t number; ///< in the launch
  uint64_t clockReads = 0;
  std::deque<Block> blocks;
  std::deque<Thread> threads;
  NamedBarrier clusterBarrier;
  std::optional<ClusterCounters> counters;

private:
  static void enter(void *thread);
  Thread *nextThread();
  bool runAnEffect();
  [[nodiscard]] std::string describeDeadlock() const;
  void finish(Thread &thread);

  const Worker &worker;
  std::deque<Thread *> ready;
  std::vector<std::shared_ptr<Effect>> effects;
  std::mt19937_64 random;
  uint32_t components;
  size_t numFinished = 0;
};

/// The thread whose fiber runs here.
Thread &current();

/// What ends a launch where no fiber runs: an effect that the scheduler started.
struct LaunchFailed {
  SiteId site;
  std::string what;
};

/// Ends the launch with a report about the running thread; `what` says what it did.
std::string describeError(const Thread &thread, SiteId site, const std::string &what);
[[noreturn]] void reportError(SiteId site, const std::string &what);

/// Runs all blocks on `options->workers` threads of the host. The report of what went wrong, or nothing.
std::string runLaunch(Launch &launch);

// Synchronisation that several models use.
void acquire(Thread &thread, const Knowledge &from);
/// What the thread knows goes into `to`; what it does from here on does not.
void release(Thread &thread, Knowledge &to);
/// What the thread does from here on is later than what others may know of it.
void beginEpoch(Thread &thread);
/// Waits until `lanes` of the warp have come to `operation`; the last of them runs `all` on behalf of everyone.
void meet(Thread &thread, const void *operation, uint32_t mask, uint64_t *slots, const char *name,
          const std::function<void(Collective &)> &all);

// Accesses of instructions, checked. Addresses are those of the instruction.
/// Strong: volatile, relaxed, acquire or release. They do not race in global memory.
enum class AccessKind : uint8_t { Read, Write, Atomic, StrongRead, StrongWrite };
void *checkedAccess(Thread &thread, uint64_t address, uint64_t size, uint64_t alignment, AccessKind kind, SiteId site);
/// Two threads may write the same value without an order. Whether a write that was let through did so shows when it has
/// been made: to be called whenever a thread comes back to the emulator.
void checkDoubtfulWrite();
/// An access to the shared memory of some block of the cluster by an asynchronous agent.
void checkedAsyncAccess(Cluster &cluster, uint32_t address, uint32_t size, AccessKind kind, const Agent &agent,
                        const Thread &by);
Block *blockOfShared(Cluster &cluster, uint64_t address, uint64_t size);
/// An error if a thread of another block touches the block after its end.
void checkBlockRuns(const Block &block, const Thread &by, SiteId site);

} // namespace tkc::emulator
