// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of 4 to 16 bytes from global to shared memory that a thread starts and later waits for, in groups. Source: PTX
// ISA, "cp.async". They go through the generic proxy, like the thread's own stores.
#include "emulator/GlobalAccess.h"
#include "emulator/models/Barriers.h"

#include <fmt/core.h>

namespace tkc::emulator {
namespace {

Epoch openEpoch(Thread &thread) {
  if (thread.copyComponent == 0)
    thread.copyComponent = thread.block->cluster.newComponent();
  return {thread.copyComponent, static_cast<uint32_t>(thread.copyGroups.size())};
}

/// `[destination], [source], bytes{, bytes of the source}`: the rest is zero.
void copy(const BoundInstruction &instruction, uint64_t *slots) {
  Thread &thread = current();
  const auto offsetOf = [&](size_t i) { return static_cast<uint64_t>(instruction.operands[i].offset); };
  const auto to = static_cast<uint32_t>(slots[0] + offsetOf(0));
  const uint64_t from = slots[1] + offsetOf(1);
  const auto bytes = static_cast<uint32_t>(slots[2]);
  const uint32_t present = instruction.operands.size() > 3 ? static_cast<uint32_t>(slots[3]) : bytes;
  if ((bytes != 4 && bytes != 8 && bytes != 16) || (instruction.has("cg") && bytes != 16) || present > bytes)
    reportError(instruction.site, fmt::format("a copy of {} bytes, {} of them from memory", bytes, present));
  if (to % bytes != 0 || from % bytes != 0)
    reportError(instruction.site, fmt::format("misaligned: a copy of {} bytes from {:#x} to byte {} of shared memory",
                                              bytes, from, to - thread.block->shared.begin()));
  if (present != 0 && thread.block->cluster.launch.memory->find(from, present).end == 0)
    reportError(instruction.site,
                fmt::format("out of bounds: copies {} bytes at {:#x}, which no allocation holds", present, from));
  if (thread.block->cluster.counters)
    thread.block->cluster.counters->access(thread, to, bytes, true, instruction.site);
  const Epoch epoch = openEpoch(thread);
  const auto knows = std::make_shared<Knowledge>();
  release(thread, *knows);
  const auto run = [&thread, knows, epoch, to, from, bytes, present, site = instruction.site] {
    checkedAsyncAccess(thread.block->cluster, to, bytes, AccessKind::Write, {*knows, epoch, false, site}, thread);
    if (present != 0)
      checkAsyncGlobal(thread.block->cluster, from, present, AccessKind::Read, {*knows, epoch, false, site}, nullptr);
    char data[16] = {};
    std::memcpy(data, reinterpret_cast<const void *>(from), present);
    std::memcpy(reinterpret_cast<void *>(static_cast<uint64_t>(to)), data, bytes);
  };
  thread.copyGroups.back().push_back(thread.block->cluster.start(run));
}

void commit(const BoundInstruction &, uint64_t *) { current().copyGroups.emplace_back(); }

void finish(Thread &thread, size_t groups) {
  for (size_t i = 0; i < groups; ++i) {
    for (const std::shared_ptr<Effect> &effect : thread.copyGroups[i])
      effect->finish();
    thread.copyGroups[i].clear();
  }
  if (thread.copyComponent != 0)
    thread.knows.happened.raise(thread.copyComponent, static_cast<uint32_t>(groups));
}

void waitForGroups(const BoundInstruction &, uint64_t *slots) {
  Thread &thread = current();
  const size_t closed = thread.copyGroups.size() - 1, inFlight = slots[0];
  if (closed > inFlight)
    finish(thread, closed - inFlight);
}

void waitForAll(const BoundInstruction &instruction, uint64_t *slots) {
  commit(instruction, slots);
  finish(current(), current().copyGroups.size() - 1);
}

constexpr Model table[] = {
    {"cp.async.ca.shared.global*", copy}, {"cp.async.ca.shared::cta.global*", copy},
    {"cp.async.cg.shared.global*", copy}, {"cp.async.cg.shared::cta.global*", copy},
    {"cp.async.commit_group", commit},    {"cp.async.wait_group", waitForGroups},
    {"cp.async.wait_all", waitForAll},
};

} // namespace

std::span<const Model> copyModels() { return table; }

} // namespace tkc::emulator
