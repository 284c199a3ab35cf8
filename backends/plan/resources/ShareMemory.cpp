// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/resources/ShareMemory.h"

#include "backends/plan/placement/SharedUse.h"
#include "backends/plan/resources/SharedLiveness.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tkc::planner {
namespace {

/// Staged operands; and where one role fills its rings for itself, so that its own barriers are all there are, rings
/// of one stage, stores by threads and transpositions.
class Sharers {
public:
  Sharers(const std::set<std::string> &transposed, std::vector<plan::Buffer> &scratch, Placement &placement)
      : placement(placement) {
    for (const auto &[value, buffer] : placement.staged)
      names.insert(buffer);
    if (placement.copiesItself && !placement.loadsAlways) {
      for (const RingPlacement &ring : placement.rings)
        for (const RingMember &member : ring.members)
          names.insert(member.buffer);
      for (plan::Buffer &buffer : placement.buffers)
        if (isWholeStore(placement, buffer.name)) {
          buffer.aliasOf.clear();
          names.insert(buffer.name);
        }
      names.insert(transposed.begin(), transposed.end());
    }
    for (std::vector<plan::Buffer> *buffers : {&placement.buffers, &scratch})
      for (plan::Buffer &buffer : *buffers)
        if (names.count(buffer.name))
          all.push_back(&buffer);
    std::erase_if(all, [&](const plan::Buffer *buffer) { return !isAlone(*buffer); });
    std::stable_sort(all.begin(), all.end(),
                     [](const auto *one, const auto *other) { return one->totalBytes() > other->totalBytes(); });
    names.clear();
    for (const plan::Buffer *buffer : all)
      names.insert(buffer->name);
  }

  std::vector<plan::Buffer *> all; ///< the largest first
  std::set<std::string> names;

private:
  /// A tile with memory of its own, which is nobody else's yet.
  bool isAlone(const plan::Buffer &buffer) const {
    return buffer.stages == 1 && buffer.instances == 1 && buffer.aliasOf.empty() &&
           std::none_of(placement.buffers.begin(), placement.buffers.end(),
                        [&](const plan::Buffer &other) { return other.aliasOf == buffer.name; });
  }

  const Placement &placement;
};

} // namespace

bool lieTogether(const MemoryOf &memory, const std::string &one, const std::string &other) {
  const auto host = memory.find(one), its = memory.find(other);
  return one != other && host != memory.end() && its != memory.end() && host->second == its->second;
}

MemoryOf shareMemory(const plan::Role &role, const std::set<std::string> &transposed,
                     std::vector<plan::Buffer> &scratch, Placement &placement) {
  const Sharers sharers(transposed, scratch, placement);
  const Interference meets = findInterference(role, sharers.names);
  const auto meet = [&](const std::string &one, const std::string &other) {
    const auto found = meets.find(one);
    return found != meets.end() && found->second.count(other) != 0;
  };
  using Group = std::vector<plan::Buffer *>;
  std::vector<Group> groups; // the first of each gives the memory
  for (plan::Buffer *buffer : sharers.all) {
    Group *found = nullptr; // the one with the fewest, as each of them may have to wait for the others
    for (Group &group : groups)
      if (std::none_of(group.begin(), group.end(),
                       [&](const plan::Buffer *other) { return meet(buffer->name, other->name); }) &&
          (!found || group.size() < found->size()))
        found = &group;
    if (found)
      found->push_back(buffer);
    else
      groups.push_back({buffer});
  }
  MemoryOf memory;
  for (const Group &group : groups) {
    if (group.size() == 1)
      continue;
    const std::string &host = group.front()->name;
    std::vector<std::string> others;
    for (plan::Buffer *buffer : group) {
      memory[buffer->name] = host;
      if (buffer != group.front()) {
        buffer->aliasOf = host;
        others.push_back("`" + buffer->name + "`");
      }
    }
    placement.note(plan::Note::Stages, {},
                   fmt::format("in the memory of `{}`: {}, which {} in use at other times", host,
                               fmt::join(others, ", "), others.size() == 1 ? "is" : "are"));
  }
  return memory;
}

} // namespace tkc::planner
