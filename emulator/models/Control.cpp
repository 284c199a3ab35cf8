// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Special registers, register budgets, fences, and what has no effect here. Source: PTX ISA, "Special Registers",
// "setmaxnreg", "membar / fence", "griddepcontrol".
#include "emulator/models/Barriers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace tkc::emulator {
namespace {

// ---- register budgets: the pool of a block has what its warps released and others have not claimed.

/// All warps of a warpgroup execute the same setmaxnreg.
void checkWarpgroup(const BoundInstruction &instruction, Block &block, size_t warp) {
  std::vector<const BoundInstruction *> &own = block.warps[warp].resizes;
  own.push_back(&instruction);
  for (size_t other = warp / 4 * 4; other < std::min(warp / 4 * 4 + 4, block.warps.size()); ++other)
    if (const auto &its = block.warps[other].resizes; its.size() >= own.size() && its[own.size() - 1] != own.back())
      reportError(instruction.site,
                  fmt::format("warps {} and {} of one warpgroup execute different ones", warp, other));
}

void resize(const BoundInstruction &instruction, uint64_t *slots, bool claims) {
  Thread &thread = current();
  const auto wanted = static_cast<uint32_t>(slots[0]);
  if (wanted < 24 || wanted > 256 || wanted % 8 != 0)
    reportError(instruction.site, fmt::format("{} registers; it takes multiples of 8 from 24 to 256", wanted));
  Block &block = *thread.block;
  Warp &warp = block.warps[thread.warp()];
  warpBarrier(thread, ~0u);
  if (thread.lane() == 0)
    checkWarpgroup(instruction, block, thread.warp());
  if (thread.lane() == 0 && warp.registers != 0) {
    if (claims ? wanted < warp.registers : wanted > warp.registers)
      reportError(instruction.site, fmt::format("the warp has {} registers a thread, and asks to {} to {}",
                                                warp.registers, claims ? "grow" : "shrink", wanted));
    const uint32_t difference = 32 * (claims ? wanted - warp.registers : warp.registers - wanted);
    if (claims) {
      while (block.registerPool < difference)
        block.cluster.wait(block.waitingForRegisters, [&block, difference] {
          return fmt::format("{} registers, the block's pool has {}", difference, block.registerPool);
        });
      block.registerPool -= difference;
    } else {
      block.registerPool += difference;
      block.cluster.wake(block.waitingForRegisters);
    }
    warp.registers = wanted;
  }
  warpBarrier(thread, ~0u);
}

void claimRegisters(const BoundInstruction &instruction, uint64_t *slots) { resize(instruction, slots, true); }
void releaseRegisters(const BoundInstruction &instruction, uint64_t *slots) { resize(instruction, slots, false); }

/// Writes that this thread knows of are from now on visible to the asynchronous engines, for whoever learns of the
/// fence: PTX ISA, "Memory Consistency Model", "Causality order": a fence may lie anywhere on the path. Its reads are
/// over, too: an arrival alone does not wait for them, and the copy engine has been seen to overwrite what was still to
/// be read. What the thread does from here on has not been fenced.
void fenceProxy(const BoundInstruction &, uint64_t *) {
  Thread &thread = current();
  thread.knows.fenced.join(thread.knows.happened);
  beginEpoch(thread);
  publishMbarriers(*thread.block);
}

/// `mapa.shared::cluster.u32 d, address, rank`: the same place in another block of the cluster.
void mapAddress(const BoundInstruction &instruction, uint64_t *slots) {
  const Block &own = *current().block;
  const std::deque<Block> &blocks = own.cluster.blocks;
  if (slots[2] >= blocks.size())
    reportError(instruction.site, fmt::format("block {} of a cluster of {}", slots[2], blocks.size()));
  slots[0] = static_cast<uint32_t>(slots[1] + blocks[slots[2]].shared.begin() - own.shared.begin());
}

/// For the whole GPU or the system: atomic accesses after it hand on what happened before it.
void fenceMemory(const BoundInstruction &instruction, uint64_t *) {
  for (const std::string_view scope : {"gl", "gpu", "sys"})
    current().fencedForAll |= instruction.has(scope);
}

void nothing(const BoundInstruction &, uint64_t *) {}

constexpr Model table[] = {
    {"setmaxnreg.inc.sync.aligned.u32", claimRegisters},
    {"setmaxnreg.dec.sync.aligned.u32", releaseRegisters},
    {"fence.proxy.async*", fenceProxy},
    {"fence.proxy.tensormap*", nothing},
    {"fence.acq_rel.*", fenceMemory},
    {"fence.sc.*", fenceMemory},
    {"membar.*", fenceMemory},
    {"mapa.shared::cluster.u32", mapAddress},
    {"griddepcontrol.*", nothing},
    {"prefetch*", nothing},
    {"nanosleep.u32", nothing},
};

constexpr std::array<std::string_view, 32> registerNames{"tid.x",
                                                         "tid.y",
                                                         "tid.z",
                                                         "ntid.x",
                                                         "ntid.y",
                                                         "ntid.z",
                                                         "ctaid.x",
                                                         "ctaid.y",
                                                         "ctaid.z",
                                                         "nctaid.x",
                                                         "nctaid.y",
                                                         "nctaid.z",
                                                         "laneid",
                                                         "warpid",
                                                         "cluster_ctarank",
                                                         "cluster_nctarank",
                                                         "cluster_ctaid.x",
                                                         "cluster_ctaid.y",
                                                         "cluster_ctaid.z",
                                                         "cluster_nctaid.x",
                                                         "cluster_nctaid.y",
                                                         "cluster_nctaid.z",
                                                         "clusterid.x",
                                                         "clusterid.y",
                                                         "clusterid.z",
                                                         "nclusterid.x",
                                                         "nclusterid.y",
                                                         "nclusterid.z",
                                                         "clock",
                                                         "clock64",
                                                         "globaltimer",
                                                         "smid"};

uint64_t component(const Dim3 &dims, int i) { return i == 0 ? dims.x : i == 1 ? dims.y : dims.z; }

} // namespace

std::span<const Model> controlModels() { return table; }

int specialRegister(std::string_view name) {
  const auto found = std::find(registerNames.begin(), registerNames.end(), name);
  return found == registerNames.end() ? -1 : static_cast<int>(found - registerNames.begin());
}

uint64_t readSpecialRegister(const Thread &thread, int number) {
  const Block &block = *thread.block;
  const Launch &launch = block.cluster.launch;
  const Dim3 &each = launch.cluster;
  if (number < 3)
    return component(thread.position, number);
  if (number < 6)
    return component(launch.block, number - 3);
  if (number < 9)
    return component(block.position, number - 6);
  if (number < 12)
    return component(launch.grid, number - 9);
  switch (number) {
  case 12:
    return thread.lane();
  case 13:
    return thread.warp();
  case 14:
    return block.rank;
  case 15:
    return each.count();
  case 28:
  case 29:
  case 30: // there is no time: how often the cluster has asked for it
    return ++block.cluster.clockReads;
  case 31:
    return 0;
  default:
    break;
  }
  const int axis = (number - 16) % 3;
  const uint64_t size = component(each, axis), position = component(block.position, axis);
  switch ((number - 16) / 3) {
  case 0:
    return position % size;
  case 1:
    return size;
  case 2:
    return position / size;
  default:
    return component(launch.grid, axis) / size;
  }
}

} // namespace tkc::emulator
