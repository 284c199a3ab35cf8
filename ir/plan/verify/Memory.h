// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks, and what shared memory remembers of the accesses to it.
#pragma once

#include "ir/plan/verify/Order.h"

#include <algorithm>

namespace tkc::plan {

/// How far a process knows every process, barrier and engine to be.
class Clock {
public:
  Clock() = default;
  explicit Clock(int components) : values(static_cast<size_t>(components)) {}

  int &at(int component) { return values[static_cast<size_t>(component)]; }
  int at(int component) const { return values[static_cast<size_t>(component)]; }
  void raise(int component, int value) { at(component) = std::max(at(component), value); }
  void join(const Clock &other) { join(other, 0, values.size()); }
  /// All components but [skipBegin, skipEnd).
  void joinBut(const Clock &other, int skipBegin, int skipEnd) {
    join(other, 0, static_cast<size_t>(skipBegin));
    join(other, static_cast<size_t>(skipEnd), values.size());
  }
  bool isBefore(const Clock &other) const {
    return std::equal(values.begin(), values.end(), other.values.begin(), [](int x, int y) { return x <= y; });
  }

private:
  void join(const Clock &other, size_t begin, size_t end) {
    int *mine = values.data();
    const int *others = other.values.data();
    for (size_t i = begin; i < end; ++i)
      mine[i] = mine[i] < others[i] ? others[i] : mine[i];
  }

  std::vector<int> values;
};

/// Which component of a clock counts what.
class Components {
public:
  Components(const std::vector<Process> &processes, const Numbering &numbering)
      : processes(processes), numProcesses(static_cast<int>(processes.size())),
        numBarriers(static_cast<int>(numbering.barriers.size())), numBlocks(numbering.blocks) {
    for (const Process &process : processes)
      numEngines = std::max(numEngines, process.engine + 1);
  }

  /// Synchronising events of a process; its reads and writes of shared memory; those of them it has fenced.
  int time(size_t process) const { return static_cast<int>(process); }
  int generic(size_t process) const { return firstGeneric() + static_cast<int>(process); }
  int fence(size_t process) const { return firstFence() + static_cast<int>(process); }
  /// Its accesses to tensor memory that it has fenced.
  int tensorFence(size_t process) const {
    return copies(static_cast<size_t>(numProcesses)) + static_cast<int>(process);
  }
  int firstGeneric() const { return numProcesses; }
  int firstFence() const { return 2 * numProcesses; }
  /// Phases of a barrier stage; product groups and bulk groups of an instance; generations of a named barrier.
  int barrier(int number) const { return 3 * numProcesses + number; }
  int engine(int number) const { return 3 * numProcesses + numBarriers + number; }
  int bulk(int number) const { return engine(numEngines) + number; }
  int named(int number) const { return bulk(numEngines) + number; }
  /// Copy groups of a process that others may know to have come.
  int copies(size_t process) const { return named(numNamed()) + static_cast<int>(process); }
  /// Those of them that it has fenced.
  int copyFence(size_t process) const {
    return tensorFence(static_cast<size_t>(numProcesses)) + static_cast<int>(process);
  }
  /// Its accesses to global memory that a barrier has told of.
  int global(size_t process) const { return copyFence(static_cast<size_t>(numProcesses)) + static_cast<int>(process); }
  int count() const { return named(numNamed()) + 4 * numProcesses; }
  int numNamed() const { return numBlocks * namedBarriers; }
  /// The machine's 16, and one more for what the printer adds. Ids beyond are the budget's business.
  static constexpr int namedBarriers = 17;

  const Process &process(size_t number) const { return processes[number]; }
  /// "consumer 2", or "producer" where there is one instance; " of block 2" where there are several.
  std::string name(size_t process) const;

private:
  const std::vector<Process> &processes;
  int numProcesses, numBarriers, numBlocks, numEngines = 0;
};

/// One access to a stage of a buffer.
struct Access {
  enum Agent : uint8_t { GenericRead, GenericWrite, CopyWrite, ThreadCopy, ProductRead, ProductWrite, BulkRead };
  /// It is over for those whose clock has reached `value` in `component`.
  struct End {
    int component, value;
  };

  const Stmt *stmt;
  Agent agent;
  size_t process;
  size_t event; ///< of the process' trace
  Rect rect;
  End end;
  int syncs;               ///< barriers of its threads that the process had passed
  int slot = -1;           ///< what the access names; all buffers of tensor memory share one list
  int64_t step = -1;       ///< of the cursor that names the stage: Touched::step
  bool isSurplus = false;  ///< Touched::isSurplus
  bool fencedAfter = true; ///< tensor memory: a fence came after the last barrier that the process passed
  bool isRead = false;     ///< of a write: somebody has read of it

  bool isWrite() const {
    return agent == GenericWrite || agent == CopyWrite || agent == ThreadCopy || agent == ProductWrite;
  }
  bool isGeneric() const { return agent == GenericRead || agent == GenericWrite; }
};

/// The part of a stage that an instance touches.
Rect rectOf(const Touched &touched, const Process &process);
/// The same of a stage in tensor memory: quarters of the lanes, of which each of an instance's warps reaches its own
/// and products all, and columns, as they are numbered there.
Rect tensorRectOf(const Touched &touched, int stage, const Process &process, bool isGeneric);
/// The share of a stage that block `block` of `blocks` copies.
Rect shareOf(const Touched &touched, Division division, int block, int blocks);

class Memory {
public:
  Memory(const Numbering &numbering, const Components &components)
      : numbering(numbering), components(components), accesses(numbering.slots.size()) {}

  /// Enters an access by a process whose clock is `clock`. Returns what is wrong with it, or nothing.
  std::string access(int slot, const Access &access, const Clock &clock);
  /// Accesses to block `block` that nobody who has the clock `all` knows to be over.
  std::vector<std::pair<const Stmt *, std::string>> unfinished(int block, const Clock &all) const;

private:
  std::string conflict(const Access &now, const Access &before, const Clock &clock, int slot, int beforeSlot) const;
  bool isOneAccumulation(const Access &now, const Access &before, bool sameSlot) const;
  std::string unfencedTensor(const Access &now, const Access &before, const Clock &clock) const;
  bool isOfAnotherRound(const Access &now, const Access &before) const;
  static bool isUnread(const Access &write);
  bool isOrdered(const Access &now, const Access &before, const Clock &clock) const;
  bool isFenced(const Access &now, const Access &before, const Clock &clock) const;
  bool bySameThreads(const Access &now, const Access &before) const;
  bool areSharesOfOne(const Access &now, const Access &before) const;
  std::string name(int slot) const;
  std::string describe(const Access &access) const;
  void enter(int slot, const Access &access);
  int listOf(int slot) const;
  static void cut(std::vector<Access> &all, const Rect &written);

  const Numbering &numbering;
  const Components &components;
  std::vector<std::vector<Access>> accesses; ///< by slot: writes that still count, and reads since
};

} // namespace tkc::plan
