// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/Allocate.h"

#include <algorithm>
#include <fmt/format.h>

namespace tkc::planner {
namespace {

constexpr int64_t alignment = 1024;
constexpr int defaultStages = 4;
/// Barriers, and the slack that aligning dynamic shared memory to 1024 bytes costs.
constexpr int64_t reserved = 2048;

int64_t aligned(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

int64_t stageBytes(Placement &placement, const RingPlacement &ring) {
  int64_t bytes = 0;
  for (const RingMember &member : ring.members)
    bytes += aligned(placement.findBuffer(member.buffer)->stageBytes());
  return bytes;
}

/// After all rings were filled: `left` bytes are not used.
void noteStages(Placement &placement, const Schedule &schedule, int wanted, int64_t left) {
  for (const RingPlacement &ring : placement.rings) {
    const int64_t bytes = stageBytes(placement, ring);
    std::string why;
    if (ring.depth == 0)
      why = "loaded once a tile";
    else if (schedule.stages)
      why = "as the schedule says";
    else if (ring.stages == wanted)
      why = fmt::format("no more are tried; {} bytes of shared memory are left", left);
    else
      why = fmt::format("another takes {} bytes, and {} of shared memory are left", bytes, left);
    placement.notes.push_back({plan::Note::Stages,
                               fmt::format("ring `{}`: {} stage{} of {} bytes: {}", ring.name, ring.stages,
                                           ring.stages == 1 ? "" : "s", bytes, why),
                               ring.members.front().load->loc});
  }
}

int64_t usedBytes(const Placement &placement) {
  int64_t used = reserved;
  for (const plan::Buffer &buffer : placement.buffers)
    used += aligned(buffer.totalBytes());
  return used;
}

} // namespace

bool hasRoom(const Placement &placement, const arch::Description &arch, int64_t bytes) {
  return usedBytes(placement) + aligned(bytes) <= arch.sharedBytesPerBlock;
}

void fillRings(Placement &placement, const arch::Description &arch, const Schedule &schedule) {
  int64_t used = usedBytes(placement);
  const int wanted = static_cast<int>(schedule.stages.value_or(defaultStages));
  // Round by round, so that no ring is deep while another is shallow.
  for (int depth = 1; depth < wanted; ++depth)
    for (RingPlacement &ring : placement.rings) {
      const int64_t bytes = stageBytes(placement, ring);
      const bool asked = schedule.stages.has_value(); // the verifier says with the numbers if that does not fit
      if (ring.depth == 0 || ring.stages != depth || (!asked && used + bytes > arch.sharedBytesPerBlock))
        continue;
      ++ring.stages;
      used += bytes;
    }
  noteStages(placement, schedule, wanted, arch.sharedBytesPerBlock - used);
  for (const RingPlacement &ring : placement.rings)
    for (const RingMember &member : ring.members)
      placement.findBuffer(member.buffer)->stages = ring.stages;
}

void allocate(plan::Plan &plan) {
  int64_t offset = 0;
  for (plan::Buffer &buffer : plan.buffers) {
    buffer.offset = offset;
    offset = aligned(offset + buffer.totalBytes());
  }
  plan.sharedBytes = plan.buffers.empty() && plan.barriers.empty() ? 0 : offset + reserved;
}

} // namespace tkc::planner
