// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/SharedUse.h"

#include <algorithm>

namespace tkc::planner {

int64_t aligned(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

int64_t stageBytes(Placement &placement, const RingPlacement &ring) {
  int64_t bytes = 0;
  for (const RingMember &member : ring.members)
    bytes += aligned(placement.findBuffer(member.buffer)->stageBytes(), placement.alignment);
  return bytes;
}

bool isWhole(const Placement &placement, const StorePlacement &store) {
  return placement.copiesItself && store.map.empty();
}

bool isWholeStore(const Placement &placement, const std::string &buffer) {
  return std::any_of(placement.stores.begin(), placement.stores.end(), [&](const auto &store) {
    return store.second.buffer == buffer && isWhole(placement, store.second);
  });
}

int64_t usedBytes(const Placement &placement) {
  int64_t used = placement.throughRegisters || placement.directLoads ? 0 : placement.copiesItself ? slack : reserved;
  for (const plan::Buffer &buffer : placement.buffers)
    used += isWholeStore(placement, buffer.name) || !buffer.aliasOf.empty()
                ? 0
                : aligned(buffer.totalBytes(), placement.alignment);
  return used;
}

bool hasRoom(const Placement &placement, const arch::Description &arch, int64_t bytes) {
  return usedBytes(placement) + aligned(bytes, placement.alignment) <= arch.sharedBytesPerBlock;
}

} // namespace tkc::planner
