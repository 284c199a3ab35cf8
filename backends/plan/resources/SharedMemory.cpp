// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/resources/SharedMemory.h"

#include "backends/plan/placement/SharedUse.h"

#include <algorithm>
#include <set>
#include <string>

namespace tkc::planner {

void allocateShared(plan::Plan &plan, bool isPlacedByCompiler, bool packs) {
  std::set<std::string> swizzled; // buffers that have one, or whose memory such a buffer has as well
  for (const plan::Buffer &buffer : plan.buffers)
    if (buffer.swizzle != plan::Swizzle::None)
      swizzled.insert({buffer.name, buffer.aliasOf});
  const auto hasSwizzle = [&](const plan::Buffer &buffer) { return swizzled.count(buffer.name) != 0; };
  if (packs)
    std::stable_partition(plan.buffers.begin(), plan.buffers.end(), hasSwizzle);
  int64_t offset = 0;
  for (plan::Buffer &buffer : plan.buffers)
    if (buffer.aliasOf.empty()) {
      buffer.offset = offset;
      offset =
          aligned(offset + buffer.totalBytes(), packs && !hasSwizzle(buffer) ? packedAlignment : 8 * plan.sharedSpan);
    }
  for (plan::Buffer &buffer : plan.buffers)
    if (!buffer.aliasOf.empty())
      buffer.offset = plan.findBuffer(buffer.aliasOf)->offset;
  if (packs) {
    for (const plan::Barrier &barrier : plan.barriers)
      offset += static_cast<int64_t>(8) * barrier.stages * barrier.instances;
    plan.sharedBytes = aligned(offset, 8 * plan.sharedSpan) + slack;
    return;
  }
  const int64_t besides = isPlacedByCompiler ? 0 : plan.barriers.empty() ? slack : reserved;
  plan.sharedBytes = plan.buffers.empty() && plan.barriers.empty() ? 0 : offset + besides;
}

} // namespace tkc::planner
