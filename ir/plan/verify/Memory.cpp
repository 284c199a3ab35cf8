// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/verify/Memory.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::plan {

std::string Components::name(size_t process) const {
  const Process &it = processes[process];
  std::string name = it.role->processes() == 1 ? it.role->name : fmt::format("{} {}", it.role->name, it.instance + 1);
  return numBlocks == 1 ? name : fmt::format("{} of block {}", name, it.block + 1);
}

namespace {

/// Part `i` of `n` of a stage, along its rows or its columns as stored.
Rect partOf(const Buffer &buffer, bool alongRows, int i, int n) {
  int64_t extent = alongRows ? buffer.rows : buffer.cols;
  int64_t lo = extent * i / n, hi = extent * (i + 1) / n;
  return alongRows ? Rect{lo, hi, 0, buffer.cols} : Rect{0, buffer.rows, lo, hi};
}

} // namespace

Rect rectOf(const Touched &touched, const Process &process) {
  if (touched.slice == Division::Whole)
    return partOf(*touched.buffer, true, 0, 1);
  // Rows of the tile run along the buffer's columns where it is transposed.
  bool alongRows = (touched.slice == Division::Rows) != touched.transposed;
  return partOf(*touched.buffer, alongRows, process.instance, process.role->instances);
}

Rect tensorRectOf(const Touched &touched, int stage, const Process &process, bool isGeneric) {
  constexpr int64_t quarters = 4;
  const auto &buffer = static_cast<const TensorBuffer &>(*touched.buffer);
  const int64_t begin = buffer.offset + stage * buffer.stageColumns();
  const bool isWhole = touched.slice == Division::Whole;
  const int instances = isWhole ? 1 : process.role->instances, instance = isWhole ? 0 : process.instance;
  Rect rect{0, quarters, begin + buffer.stageColumns() * instance / instances,
            begin + buffer.stageColumns() * (instance + 1) / instances};
  if (isGeneric && process.elected)
    rect.rowHi = 1;
  else if (isGeneric)
    rect.rowLo = 1;
  return rect;
}

Rect shareOf(const Touched &touched, Division division, int block, int blocks) {
  return partOf(*touched.buffer, division == Division::Rows, block, blocks);
}

/// Buffers of tensor memory meet by the columns that they have, in one list for a block.
int Memory::listOf(int slot) const {
  if (!numbering.isTensor(slot))
    return slot;
  int first = numbering.slotIn(numbering.slots[static_cast<size_t>(slot)].block, 0);
  while (!numbering.isTensor(first))
    ++first;
  return first;
}

/// What is overwritten no longer counts as written by anything before.
void Memory::cut(std::vector<Access> &all, const Rect &written) {
  std::vector<Access> left;
  for (const Access &access : all) {
    if (!access.isWrite() || !access.rect.meets(written)) {
      left.push_back(access);
      continue;
    }
    const auto keep = [&](Rect rect) {
      if (rect.rowLo < rect.rowHi && rect.colLo < rect.colHi) {
        left.push_back(access);
        left.back().rect = rect;
      }
    };
    const Rect &it = access.rect;
    const int64_t rowLo = std::max(it.rowLo, written.rowLo), rowHi = std::min(it.rowHi, written.rowHi);
    keep({it.rowLo, rowLo, it.colLo, it.colHi});
    keep({rowHi, it.rowHi, it.colLo, it.colHi});
    keep({rowLo, rowHi, it.colLo, std::max(it.colLo, written.colLo)});
    keep({rowLo, rowHi, std::min(it.colHi, written.colHi), it.colHi});
  }
  all = std::move(left);
}

std::string Memory::name(int slot) const {
  const Numbering::Slot &it = numbering.slots[static_cast<size_t>(slot)];
  std::string name = fmt::format("{}[{}]", it.buffer->name, it.stage);
  return numbering.blocks == 1 ? name : fmt::format("{} of block {}", name, it.block + 1);
}

std::string Memory::describe(const Access &access) const {
  return fmt::format("`{}` of `{}`", print(*access.stmt), components.name(access.process));
}

/// The same threads touch the same elements in both.
bool Memory::bySameThreads(const Access &now, const Access &before) const {
  const Process &one = components.process(now.process), &other = components.process(before.process);
  if (!now.isGeneric() || !before.isGeneric() || one.engine != other.engine || now.rect != before.rect)
    return false;
  auto layoutOf = [&](const Access &access) {
    const bool stores = access.stmt->kind == StmtKind::StoreShared || access.stmt->kind == StmtKind::StoreTensor;
    const std::string &name = stores ? access.stmt->operands[0] : access.stmt->dest;
    const Var *var = one.role->findVar(name);
    return access.stmt->kind == StmtKind::Product || !var ? std::nullopt : std::optional(var->type.layout);
  };
  bool sameEvent = now.event == before.event;
  return sameEvent || (layoutOf(now) && layoutOf(now) == layoutOf(before) &&
                       now.stmt->ref.transposed == before.stmt->ref.transposed);
}

/// Each thread copies a share of its own.
bool Memory::areSharesOfOne(const Access &now, const Access &before) const {
  const Process &one = components.process(now.process), &other = components.process(before.process);
  const auto isShare = [](const Access &access) {
    return access.agent == Access::ThreadCopy || access.stmt->kind == StmtKind::Place;
  };
  return isShare(now) && isShare(before) && now.event == before.event && one.role == other.role &&
         one.block == other.block;
}

/// A ring hands on what one cursor fills to the other that reads it, a stage each time that both advance.
bool Memory::isOfAnotherRound(const Access &now, const Access &before) const {
  return !now.isWrite() && before.isWrite() && now.slot == before.slot && now.step >= 0 && before.step >= 0 &&
         now.step != before.step;
}

/// What a role copies ahead for itself, in the loop that reads it, is read: a cursor that stays where it was leaves a
/// stage out. A producer may load for a loop that turns out to be empty.
bool Memory::isUnread(const Access &write) {
  const bool isAhead = write.agent == Access::ThreadCopy || write.stmt->kind == StmtKind::Place;
  return isAhead && write.step >= 0 && !write.isRead && !write.isSurplus;
}

bool Memory::isOrdered(const Access &now, const Access &before, const Clock &clock) const {
  // The threads of a warp are ordered among each other by a barrier only.
  if (now.process == before.process && before.isGeneric())
    return now.syncs > before.syncs || components.process(now.process).alone;
  return clock.at(before.end.component) >= before.end.value;
}

/// Generic writes are visible to copies and products once each writing thread has fenced them. Generic reads are over
/// for the copy engine once each reading thread has fenced them: an arrival does not wait for loads on their way.
bool Memory::isFenced(const Access &now, const Access &before, const Clock &clock) const {
  const bool isByEngine =
      now.agent == Access::CopyWrite && (!now.stmt->map.empty() || now.stmt->kind == StmtKind::Claim);
  if (before.agent == Access::GenericRead)
    return !isByEngine || clock.at(components.fence(before.process)) >= before.end.value;
  const bool copied = before.agent == Access::ThreadCopy;
  if (now.isGeneric() || now.agent == Access::ThreadCopy || !(copied || before.agent == Access::GenericWrite))
    return true;
  const int fence = copied ? components.copyFence(before.process) : components.fence(before.process);
  return clock.at(fence) >= before.end.value;
}

/// Products of one thread are done in order: PTX ISA, "tcgen05.mma", pipelined instructions. Into the same accumulator
/// they follow each other without a wait; of others the planner asks no such order.
bool Memory::isOneAccumulation(const Access &now, const Access &before, bool sameSlot) const {
  return sameSlot && now.agent == Access::ProductWrite && before.agent == Access::ProductWrite &&
         now.process == before.process && now.rect == before.rect;
}

/// Tensor memory changes hands between threads and products by a fence on either side of the barrier.
std::string Memory::unfencedTensor(const Access &now, const Access &before, const Clock &clock) const {
  if (before.isGeneric() && clock.at(components.tensorFence(before.process)) < before.end.value)
    return fmt::format("{} comes after {} without a `tensor_fence before` by the threads of the latter in between",
                       describe(now), describe(before));
  if (!now.fencedAfter)
    return fmt::format("{} comes after {} without a `tensor_fence after` the barrier in between", describe(now),
                       describe(before));
  return {};
}

std::string Memory::conflict(const Access &now, const Access &before, const Clock &clock, int slot,
                             int beforeSlot) const {
  const Process &one = components.process(now.process), &other = components.process(before.process);
  // A warp reaches lanes of its own only, and waits for its loads and stores.
  if (numbering.isTensor(slot) && now.isGeneric() && before.isGeneric() && one.engine == other.engine)
    return {};
  if (isOneAccumulation(now, before, slot == beforeSlot))
    return {};
  std::string shares = slot == beforeSlot ? "" : fmt::format(", whose memory {} has too", name(beforeSlot));
  if (!isOrdered(now, before, clock))
    return fmt::format("{} {} `{}`{} while {} may still be {} it: nothing that `{}` waited for says that it is done",
                       describe(now), now.isWrite() ? "overwrites" : "reads", name(slot), shares, describe(before),
                       before.isWrite() ? "writing" : "reading", components.name(now.process));
  if (numbering.isTensor(slot))
    return unfencedTensor(now, before, clock);
  if (!isFenced(now, before, clock))
    return fmt::format("{} {} `{}`{} after {} without a `fence_proxy` by the {} threads in between", describe(now),
                       now.isWrite() ? "overwrites" : "reads", name(slot), shares, describe(before),
                       before.isWrite() ? "writing" : "reading");
  return {};
}

std::string Memory::access(int slot, const Access &access, const Clock &clock) {
  std::string problem;
  int64_t written = 0;
  std::vector<Rect> counted;
  for (Access &before : accesses[static_cast<size_t>(listOf(slot))]) {
    if (!before.rect.meets(access.rect))
      continue;
    before.isRead |= !access.isWrite();
    if (before.isWrite() && std::find(counted.begin(), counted.end(), before.rect) == counted.end()) {
      counted.push_back(before.rect);
      written += Rect{std::max(before.rect.rowLo, access.rect.rowLo), std::min(before.rect.rowHi, access.rect.rowHi),
                      std::max(before.rect.colLo, access.rect.colLo), std::min(before.rect.colHi, access.rect.colHi)}
                     .area();
    }
    bool conflicts =
        (access.isWrite() || before.isWrite()) && !bySameThreads(access, before) && !areSharesOfOne(access, before);
    if (problem.empty() && conflicts)
      problem = conflict(access, before, clock, slot, before.slot);
    if (problem.empty() && isOfAnotherRound(access, before))
      problem = fmt::format("{} reads `{}` for round {} of its cursor and finds what {} wrote for round {} of its own",
                            describe(access), name(slot), access.step, describe(before), before.step);
  }
  const auto checkUnread = [&](const Access &before, int where) {
    if (problem.empty() && isUnread(before))
      problem = fmt::format("{} overwrites `{}`, and nothing has read what {} wrote for round {} of its cursor",
                            describe(access), name(where), describe(before), before.step);
  };
  if (access.isWrite())
    for (const Access &before : accesses[static_cast<size_t>(slot)])
      if (before.step != access.step && access.rect.covers(before.rect))
        checkUnread(before, slot);
  const bool reads = !access.isWrite() || access.stmt->kind == StmtKind::ScaleTensor ||
                     (access.agent == Access::ProductWrite && access.stmt->accumulate);
  if (problem.empty() && reads && written < access.rect.area())
    problem = fmt::format("{} reads `{}`, {} of which is written by anything that is sure to come before",
                          describe(access), name(slot), written == 0 ? "nothing" : "not all");
  if (access.isWrite())
    for (int other : numbering.overlapping[static_cast<size_t>(slot)]) {
      for (const Access &before : accesses[static_cast<size_t>(other)]) {
        if (problem.empty())
          problem = conflict(access, before, clock, slot, other);
        checkUnread(before, other);
      }
      accesses[static_cast<size_t>(other)].clear();
    }
  enter(slot, access);
  return problem;
}

void Memory::enter(int slot, const Access &access) {
  std::vector<Access> &all = accesses[static_cast<size_t>(listOf(slot))];
  if (numbering.isTensor(slot) && access.isWrite())
    cut(all, access.rect);
  auto isOver = [&](const Access &before) {
    if (access.isWrite()) // the other warps' share of one store stays beside this one's
      return access.rect.covers(before.rect) && !areSharesOfOne(access, before) &&
             !(before.event == access.event &&
               components.process(before.process).engine == components.process(access.process).engine);
    return !before.isWrite() && before.process == access.process && before.end.component == access.end.component &&
           before.rect == access.rect;
  };
  all.erase(std::remove_if(all.begin(), all.end(), isOver), all.end());
  all.push_back(access);
}

std::vector<std::pair<const Stmt *, std::string>> Memory::unfinished(int block, const Clock &all) const {
  std::vector<std::pair<const Stmt *, std::string>> problems;
  for (size_t slot = 0; slot < accesses.size(); ++slot)
    for (const Access &access : accesses[slot])
      if (numbering.slots[slot].block == block && isUnread(access))
        problems.emplace_back(access.stmt, fmt::format("nothing reads what {} wrote to `{}` for round {} of its cursor",
                                                       describe(access), name(access.slot), access.step));
      else if (numbering.slots[slot].block == block &&
               (access.agent == Access::CopyWrite || access.agent == Access::ThreadCopy ||
                access.agent == Access::BulkRead || access.agent == Access::ProductWrite) &&
               all.at(access.end.component) < access.end.value)
        problems.emplace_back(
            access.stmt, fmt::format("{} may still be {} `{}` when the block ends: nothing waits for it",
                                     describe(access), access.isWrite() ? "writing" : "reading", name(access.slot)));
  return problems;
}

} // namespace tkc::plan
