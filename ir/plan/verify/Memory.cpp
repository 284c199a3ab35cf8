// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/verify/Memory.h"

#include <fmt/format.h>

namespace tkc::plan {

std::string Components::name(size_t process) const {
  const Process &it = processes[process];
  std::string name = it.role->instances == 1 ? it.role->name : fmt::format("{} {}", it.role->name, it.instance + 1);
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

Rect shareOf(const Touched &touched, Division division, int block, int blocks) {
  return partOf(*touched.buffer, division == Division::Rows, block, blocks);
}

Memory::Memory(const Plan &plan, const Numbering &numbering, const Components &components)
    : numbering(numbering), components(components), accesses(numbering.slots.size()),
      overlapping(numbering.slots.size()) {
  auto bytesOf = [&](size_t slot) {
    const Buffer &buffer = *numbering.slots[slot].buffer;
    int64_t begin = buffer.offset + numbering.slots[slot].stage * buffer.stageBytes();
    return std::pair(begin, begin + buffer.stageBytes());
  };
  for (size_t i = 0; i < numbering.slots.size(); ++i)
    for (size_t j = 0; j < numbering.slots.size(); ++j) {
      if (numbering.slots[i].buffer == numbering.slots[j].buffer ||
          numbering.slots[i].block != numbering.slots[j].block)
        continue;
      auto [begin, end] = bytesOf(i);
      auto [otherBegin, otherEnd] = bytesOf(j);
      if (begin < otherEnd && otherBegin < end)
        overlapping[i].push_back(static_cast<int>(j));
    }
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
    const std::string &name = access.stmt->kind == StmtKind::StoreShared ? access.stmt->operands[0] : access.stmt->dest;
    const Var *var = one.role->findVar(name);
    return access.stmt->kind == StmtKind::Product || !var ? std::nullopt : std::optional(var->type.layout);
  };
  bool sameEvent = now.event == before.event;
  return sameEvent || (layoutOf(now) && layoutOf(now) == layoutOf(before));
}

/// Each thread copies a share of its own.
bool Memory::areSharesOfOne(const Access &now, const Access &before) const {
  const Process &one = components.process(now.process), &other = components.process(before.process);
  return now.agent == Access::ThreadCopy && before.agent == Access::ThreadCopy && now.event == before.event &&
         one.role == other.role && one.block == other.block;
}

bool Memory::isOrdered(const Access &now, const Access &before, const Clock &clock) const {
  // The threads of a warp are ordered among each other by a barrier only.
  if (now.process == before.process && before.isGeneric())
    return now.syncs > before.syncs;
  return clock.at(before.end.component) >= before.end.value;
}

/// Generic writes are visible to copies and products once each writing thread has fenced them.
bool Memory::isFenced(const Access &now, const Access &before, const Clock &clock) const {
  const bool byThreads = before.agent == Access::GenericWrite || before.agent == Access::ThreadCopy;
  return now.isGeneric() || now.agent == Access::ThreadCopy || !byThreads ||
         clock.at(components.fence(before.process)) >= before.end.value;
}

std::string Memory::conflict(const Access &now, const Access &before, const Clock &clock, int slot,
                             int beforeSlot) const {
  std::string shares = slot == beforeSlot ? "" : fmt::format(", whose memory {} has too", name(beforeSlot));
  if (!isOrdered(now, before, clock))
    return fmt::format("{} {} `{}`{} while {} may still be {} it: nothing that `{}` waited for says that it is done",
                       describe(now), now.isWrite() ? "overwrites" : "reads", name(slot), shares, describe(before),
                       before.isWrite() ? "writing" : "reading", components.name(now.process));
  if (!isFenced(now, before, clock))
    return fmt::format("{} {} `{}`{} after {} without a `fence_proxy` by the writing threads in between", describe(now),
                       now.isWrite() ? "overwrites" : "reads", name(slot), shares, describe(before));
  return {};
}

std::string Memory::access(int slot, const Access &access, const Clock &clock) {
  std::string problem;
  int64_t written = 0;
  std::vector<Rect> counted;
  for (const Access &before : accesses[static_cast<size_t>(slot)]) {
    if (!before.rect.meets(access.rect))
      continue;
    if (before.isWrite() && std::find(counted.begin(), counted.end(), before.rect) == counted.end()) {
      counted.push_back(before.rect);
      written += Rect{std::max(before.rect.rowLo, access.rect.rowLo), std::min(before.rect.rowHi, access.rect.rowHi),
                      std::max(before.rect.colLo, access.rect.colLo), std::min(before.rect.colHi, access.rect.colHi)}
                     .area();
    }
    bool conflicts =
        (access.isWrite() || before.isWrite()) && !bySameThreads(access, before) && !areSharesOfOne(access, before);
    if (problem.empty() && conflicts)
      problem = conflict(access, before, clock, slot, slot);
  }
  if (problem.empty() && !access.isWrite() && written < access.rect.area())
    problem = fmt::format("{} reads `{}`, {} of which is written by anything that is sure to come before",
                          describe(access), name(slot), written == 0 ? "nothing" : "not all");
  if (access.isWrite())
    for (int other : overlapping[static_cast<size_t>(slot)]) {
      for (const Access &before : accesses[static_cast<size_t>(other)])
        if (problem.empty())
          problem = conflict(access, before, clock, slot, other);
      accesses[static_cast<size_t>(other)].clear();
    }
  enter(slot, access);
  return problem;
}

void Memory::enter(int slot, const Access &access) {
  std::vector<Access> &all = accesses[static_cast<size_t>(slot)];
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
      if (numbering.slots[slot].block == block &&
          (access.agent == Access::CopyWrite || access.agent == Access::ThreadCopy ||
           access.agent == Access::BulkRead) &&
          all.at(access.end.component) < access.end.value)
        problems.emplace_back(access.stmt,
                              fmt::format("{} may still be {} `{}` when the block ends: nothing waits for it",
                                          describe(access), access.isWrite() ? "writing" : "reading",
                                          name(static_cast<int>(slot))));
  return problems;
}

} // namespace tkc::plan
