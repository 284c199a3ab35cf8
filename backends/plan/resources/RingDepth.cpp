// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/resources/RingDepth.h"

#include "backends/plan/placement/PlaceBulkStores.h"
#include "backends/plan/placement/SharedUse.h"
#include "backends/plan/resources/NarrowPieces.h"
#include "ir/Effects.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>

namespace tkc::planner {
namespace {

constexpr int defaultOwnStages = 3;
constexpr int defaultStagesThroughRegisters = 2; ///< one tile ahead is on its way in registers
constexpr int64_t mostBarrierBytes = 512;        ///< where buffers are packed

/// After all rings were filled: `left` bytes are not used.
void noteStages(Placement &placement, const Schedule &schedule, int wanted, int64_t left) {
  for (const RingPlacement &ring : placement.rings) {
    const int64_t bytes = stageBytes(placement, ring);
    std::string why;
    if (ring.depth == 0)
      why = ring.stages > 1 ? "loaded once a tile, the next one's beside it" : "loaded once a tile";
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

/// Bytes of a further stage of each ring of a loop.
int64_t secondStages(Placement &placement) {
  int64_t bytes = 0;
  for (const RingPlacement &ring : placement.rings)
    bytes += ring.depth > 0 ? stageBytes(placement, ring) : 0;
  return bytes;
}

/// Whether two blocks have registers enough on one multiprocessor.
bool areTwoResident(const Placement &placement, const arch::Description &arch) {
  const int threads = placement.layout.threads * placement.instances;
  if (placement.copiesItself)
    return threads * 2 * arch.maxRegistersPerThread <= arch.registersPerMultiprocessor;
  // With a loading warp beside up to four others a thread has 128 registers, of which accumulators may take half. Loop
  // splitting clones products, at the same place.
  std::map<uint32_t, int64_t> elements;
  for (const auto &[dot, product] : placement.products)
    elements[dot->loc.offset] = product.made.rows * product.made.cols;
  int64_t accumulators = 0;
  for (const auto &[place, count] : elements)
    accumulators += count / threads;
  return threads <= 4 * arch.warpSize && accumulators <= 64;
}

/// Whether a schedule gives the loading warpgroup and the computing ones so few registers that two blocks have enough.
bool asksForTwo(const Placement &placement, const arch::Description &arch, const Schedule &schedule) {
  if (placement.copiesItself || placement.usesTensorMemory() || !schedule.producerRegisters ||
      !schedule.consumerRegisters)
    return false;
  const int64_t loading = 4 * arch.warpSize, computing = int64_t{placement.layout.threads} * placement.instances;
  return 2 * (loading * *schedule.producerRegisters + computing * *schedule.consumerRegisters) <=
         arch.registersPerMultiprocessor;
}

/// What a block may use, so that two run at once: of a small block whose warps multiply by themselves, and where a
/// schedule gives registers for two.
int64_t sharedBudget(Placement &placement, const arch::Description &arch, const Schedule &schedule) {
  constexpr int64_t systemBytes = 1024; // the CUDA programming guide: each block's, besides its own
  const int64_t half = std::min(arch.sharedBytesPerBlock, arch.sharedBytesPerMultiprocessor / 2 - systemBytes);
  if (asksForTwo(placement, arch, schedule))
    return half;
  if (!placement.multipliesByWarps() || !areTwoResident(placement, arch))
    return arch.sharedBytesPerBlock;
  return placement.copiesItself || usedBytes(placement) + secondStages(placement) <= half ? half
                                                                                          : arch.sharedBytesPerBlock;
}

/// Stores by threads take the memory of the largest ring, which is done by then, or go without.
void aliasWholeStores(Placement &placement) {
  const plan::Buffer *host = nullptr;
  for (const plan::Buffer &buffer : placement.buffers)
    if (!isWholeStore(placement, buffer.name) && (!host || buffer.totalBytes() > host->totalBytes()))
      host = &buffer;
  const std::string hostName = host ? host->name : "";
  const int64_t hostBytes = host ? host->totalBytes() : 0;
  std::erase_if(placement.stores, [&](const auto &store) {
    if (!isWhole(placement, store.second))
      return false;
    plan::Buffer &buffer = *placement.findBuffer(store.second.buffer);
    buffer.aliasOf = hostName;
    return buffer.totalBytes() > hostBytes;
  });
  std::erase_if(placement.buffers, [&](const plan::Buffer &buffer) {
    return !buffer.aliasOf.empty() && !isWholeStore(placement, buffer.name);
  });
}

/// The buffers that only stores at the end of a tile use, largest first.
std::vector<std::string> lastStagingBuffers(const Placement &placement) {
  std::vector<std::string> names;
  for (const plan::Buffer &buffer : placement.buffers) {
    bool stores = false, otherwise = false;
    for (const auto &[op, store] : placement.stores)
      if (store.buffer == buffer.name)
        (store.isLast ? stores : otherwise) = true;
    if (stores && !otherwise)
      names.push_back(buffer.name);
  }
  std::stable_sort(names.begin(), names.end(), [&](const std::string &a, const std::string &b) {
    return placement.findBuffer(a)->totalBytes() > placement.findBuffer(b)->totalBytes();
  });
  return names;
}

/// The largest tile that the products are done with when the last stores begin.
const plan::Buffer *largestOperand(const Placement &placement) {
  const plan::Buffer *largest = nullptr;
  for (const plan::Buffer &buffer : placement.buffers) {
    const bool isStaging = std::any_of(placement.stores.begin(), placement.stores.end(),
                                       [&](const auto &store) { return store.second.buffer == buffer.name; });
    if (!isStaging && buffer.rows > 1 && (!largest || buffer.totalBytes() > largest->totalBytes()))
      largest = &buffer;
  }
  return largest;
}

/// Where shared memory is short: results leave through the memory of an operand, if no other tile's may come there
/// meanwhile; and not through shared memory at all where the loops' rings would have one stage for it.
void fitLastStores(Placement &placement, int64_t budget, bool takesTilesInTurn) {
  std::vector<std::string> names = lastStagingBuffers(placement);
  const plan::Buffer *host = takesTilesInTurn ? nullptr : largestOperand(placement);
  for (auto name = names.begin(); host && name != names.end(); ++name)
    if (plan::Buffer &buffer = *placement.findBuffer(*name); buffer.totalBytes() <= host->totalBytes()) {
      buffer.aliasOf = host->name;
      names.erase(name);
      break;
    }
  for (const std::string &name : names) {
    if (usedBytes(placement) + secondStages(placement) <= budget)
      return;
    std::erase_if(placement.stores, [&](const auto &store) { return store.second.buffer == name; });
    std::erase_if(placement.maps, [&](const plan::TensorMap &map) { return map.buffer == name; });
    std::erase_if(placement.buffers, [&](const plan::Buffer &buffer) { return buffer.name == name; });
    placement.notes.push_back(
        {plan::Note::Copies,
         fmt::format("`{}` is given up: stored by the threads, so that the loops' rings have a second stage", name),
         {}});
  }
}

/// What is used if the buffers without a swizzle, and the barriers, lie close together behind all others.
int64_t packedBytes(const Placement &placement) {
  std::map<std::string, int> stages;
  for (const RingPlacement &ring : placement.rings)
    for (const RingMember &member : ring.members)
      stages[member.buffer] = ring.stages;
  int64_t large = 0, small = mostBarrierBytes;
  for (const plan::Buffer &buffer : placement.buffers) {
    const auto ring = stages.find(buffer.name);
    const int64_t bytes = ring == stages.end() ? buffer.totalBytes() : buffer.stageBytes() * ring->second;
    if (buffer.aliasOf.empty())
      (buffer.swizzle == plan::Swizzle::None ? small : large) +=
          aligned(bytes, buffer.swizzle == plan::Swizzle::None ? packedAlignment : placement.alignment);
  }
  return aligned(large + small, placement.alignment) + slack;
}

/// The one buffer that loops stage operands in gets a second stage (AlternateStaging.h) where there is room. Of several
/// the barriers of one would be enough for the others. `mayPack`: room is also made by packing, which pays where blocks
/// do not take tiles dynamically (docs/performance.md).
void doubleStaging(Placement &placement, int64_t &used, int64_t budget, bool mayPack) {
  const std::vector<std::string> names = buffersStagedInLoops(placement);
  if (names.size() != 1)
    return;
  plan::Buffer &buffer = *placement.findBuffer(names.front());
  const int64_t bytes = aligned(buffer.stageBytes(), placement.alignment);
  if (used + bytes > budget) {
    const int64_t packed = packedBytes(placement);
    if (!mayPack || packed + bytes > budget)
      return;
    placement.packs = true;
    used = packed;
  }
  buffer.stages = 2;
  used += bytes;
}

/// A second stage for what is loaded once a tile, so that the next tile's comes while this one's is in use; returns the
/// bytes that it took of `left`.
int64_t deepenOutside(Placement &placement, int64_t left) {
  int64_t used = 0;
  for (RingPlacement &ring : placement.rings) {
    const int64_t bytes = stageBytes(placement, ring);
    if (ring.depth > 0 || used + bytes > left)
      continue;
    ring.stages = 2;
    used += bytes;
  }
  return used;
}

/// Whether each iteration has a value of its own. What loops carry counts as such.
bool isMadeIn(const ir::Op &loop, const ir::Value &value) {
  return !value.definingOp || ir::isDefinedIn(&value, loop.body());
}

} // namespace

std::vector<std::string> buffersStagedInLoops(const Placement &placement) {
  if (placement.copiesItself || placement.multipliesByWarps() || placement.usesTensorMemory())
    return {};
  std::set<std::string> staged, elsewhere;
  for (const auto &[dot, product] : placement.products)
    for (const Operand *operand : {&product.a, &product.b})
      if (operand->kind == Operand::Staged) {
        const ir::Op *around = dot->parent->parent;
        const bool inLoop = around && around->kind == ir::OpKind::For && !product.byThreads;
        if (inLoop && !isMadeIn(*around, *operand->value))
          continue; // staged once, before the loop (StageEarly.h)
        (inLoop ? staged : elsewhere).insert(operand->buffer);
      }
  std::vector<std::string> names;
  for (const std::string &name : staged)
    if (!elsewhere.count(name))
      names.push_back(name);
  return names;
}

void fillRings(Placement &placement, const arch::Description &arch, const Schedule &schedule, bool takesTilesInTurn,
               bool learnsNextTile) {
  const int64_t budget = sharedBudget(placement, arch, schedule);
  const bool isShort = asksForTwo(placement, arch, schedule) && usedBytes(placement) + secondStages(placement) > budget;
  if (isShort || (placement.multipliesByWarps() && !placement.copiesItself))
    fitLastStores(placement, budget, takesTilesInTurn);
  const auto turns = static_cast<int>(schedule.splitInBlock.value_or(1)); // stages in use at once
  const int byDefault = placement.throughRegisters ? defaultStagesThroughRegisters
                        : placement.copiesItself   ? defaultOwnStages
                                                   : std::max(defaultStages, 2 * turns);
  const int wanted = placement.copiesLate ? 1 : static_cast<int>(schedule.stages.value_or(byDefault));
  narrowPieces(placement, budget, wanted);
  int64_t used = usedBytes(placement);
  // Round by round, so that no ring is deep while another is shallow.
  for (int depth = 1; depth < wanted; ++depth) {
    for (RingPlacement &ring : placement.rings) {
      const int64_t bytes = stageBytes(placement, ring);
      const bool asked = schedule.stages.has_value(); // the verifier says with the numbers if that does not fit
      if (ring.depth == 0 || ring.stages != depth || (!asked && used + bytes > budget))
        continue;
      ++ring.stages;
      used += bytes;
    }
    if (depth == 1)
      doubleStaging(placement, used, budget, !learnsNextTile);
    if (depth == 1 && learnsNextTile)
      used += deepenOutside(placement, budget - used);
  }
  // Each of those that take turns has as many.
  for (RingPlacement &ring : placement.rings)
    if (ring.depth > 0 && ring.stages > turns && !schedule.stages)
      ring.stages -= ring.stages % turns;
  noteStages(placement, schedule, wanted, budget - used);
  for (const RingPlacement &ring : placement.rings)
    for (const RingMember &member : ring.members)
      placement.findBuffer(member.buffer)->stages = ring.stages;
  if (placement.copiesItself)
    aliasWholeStores(placement);
}

} // namespace tkc::planner
