// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/TensorMemory.h"

#include <algorithm>
#include <bit>

namespace tkc::emulator {

std::optional<uint32_t> TensorMemory::findFree(uint32_t count, bool last) const {
  std::optional<uint32_t> found;
  for (uint32_t first = 0; first + count <= columns; first += count) {
    const bool isFree = std::none_of(allocated.begin(), allocated.end(), [&](const Allocation &other) {
      return other.first < first + count && first < other.first + other.count;
    });
    if (isFree && (last || !found))
      found = first;
  }
  return found;
}

void TensorMemory::allocate(const Allocation &allocation) {
  if (words.empty()) {
    words.assign(size_t(lanes) * columns, ~0u);
    cells.resize(size_t(groups) * columns);
  }
  for (uint32_t column = allocation.first; column < allocation.first + allocation.count; ++column)
    for (uint32_t group = 0; group < groups; ++group)
      cell(group, column).written = 0; // what others left is nobody's
  allocated.push_back(allocation);
}

bool TensorMemory::release(uint32_t first, uint32_t count) {
  return std::erase_if(allocated, [&](const Allocation &it) { return it.first == first && it.count == count; }) != 0;
}

bool TensorMemory::isAllocated(uint32_t column) const {
  return std::any_of(allocated.begin(), allocated.end(),
                     [&](const Allocation &it) { return column - it.first < it.count; });
}

namespace {

using Kind = TensorConflict::Kind;

bool isOver(const TensorAgent &agent, Epoch other) {
  return other.component == agent.epoch.component || agent.order.knows(other);
}

} // namespace

std::optional<TensorConflict> TensorMemory::read(uint32_t group, uint32_t column, uint32_t mask,
                                                 const TensorAgent &agent) {
  if (!isAllocated(column))
    return TensorConflict{Kind::NotAllocated, group * groupLanes, column};
  Cell &at = cell(group, column);
  if (const uint32_t missing = mask & ~at.written)
    return TensorConflict{Kind::Uninitialised, group * groupLanes + static_cast<uint32_t>(std::countr_zero(missing)),
                          column};
  if (!isOver(agent, at.write.epoch))
    return TensorConflict{Kind::ReadAfterWrite, group * groupLanes, column, at.write.site};
  for (Access &reader : at.reads)
    if (isOver(agent, reader.epoch)) {
      reader = {agent.epoch, agent.site};
      return std::nullopt;
    }
  at.reads.push_back({agent.epoch, agent.site});
  return std::nullopt;
}

std::optional<TensorConflict> TensorMemory::write(uint32_t group, uint32_t column, uint32_t mask,
                                                  const TensorAgent &agent) {
  if (!isAllocated(column))
    return TensorConflict{Kind::NotAllocated, group * groupLanes, column};
  Cell &at = cell(group, column);
  if (at.written != 0 && !isOver(agent, at.write.epoch))
    return TensorConflict{Kind::WriteAfterWrite, group * groupLanes, column, at.write.site};
  for (const Access &reader : at.reads)
    if (!isOver(agent, reader.epoch))
      return TensorConflict{Kind::WriteAfterRead, group * groupLanes, column, reader.site};
  at.reads.clear();
  at.write = {agent.epoch, agent.site};
  at.written |= mask;
  return std::nullopt;
}

} // namespace tkc::emulator
