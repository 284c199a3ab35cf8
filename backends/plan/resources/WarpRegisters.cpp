// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/resources/WarpRegisters.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

/// Bytes of which a warpgroup copies four rows at once, 16 a thread.
constexpr int64_t longestCopiedRow = 512;
/// Of what is taken out of tensor memory: a tile, and that in 16 bits.
constexpr int correctionRegisters = 200;
constexpr int fewestRegisters = 24; ///< that setmaxnreg takes

/// Of operands in rings.
bool copiesLongRows(const Placement &placement) {
  const auto isLong = [&](const Operand *operand) {
    const plan::Buffer *buffer = operand->kind == Operand::Ring ? placement.findBuffer(operand->buffer) : nullptr;
    return buffer && plan::sharedBytes(buffer->elem, buffer->cols) > longestCopiedRow;
  };
  return std::any_of(placement.products.begin(), placement.products.end(),
                     [&](const auto &it) { return isLong(&it.second.a) || isLong(&it.second.b); });
}

} // namespace

int WarpRegisters::loadingWarps(const plan::Role &consumer, int besideLoads) const {
  const bool alone = placement.multipliesByWarps() && !placement.copiesByThreads() &&
                     hasAllRegisters(consumer.totalWarps() + 1 + besideLoads);
  return std::max((alone ? 1 : warpsPerWarpgroup) - besideLoads, 1);
}

bool WarpRegisters::hasAllRegisters(int warps) const {
  const int spread = (warps + warpsPerWarpgroup - 1) / warpsPerWarpgroup * warpsPerWarpgroup;
  return spread * arch.warpSize * arch.maxRegistersPerThread <= arch.registersPerMultiprocessor;
}

void WarpRegisters::share(plan::Role &producer, plan::Role &consumer, int besideProducer, int threads) const {
  const int n = consumer.totalWarps() / warpsPerWarpgroup;
  const bool byWarpgroups =
      producer.warps + besideProducer == warpsPerWarpgroup && consumer.totalWarps() == n * warpsPerWarpgroup;
  if (!arch.hasRegisterReallocation || !byWarpgroups || n > 3)
    return;
  const bool asked = schedule.producerRegisters || schedule.consumerRegisters;
  if (placement.multipliesByWarps() && hasAllRegisters(producer.totalWarps() + consumer.totalWarps()))
    return;
  // What issues products into tensor memory keeps descriptors in more than 56 registers, if it may.
  if (placement.usesTensorMemory() && !asked && hasAllRegisters(threads / arch.warpSize))
    return;
  // What issues products into tensor memory takes more than 40. Where warps multiply, no multiple of 64 is asked of
  // tiles, and the addresses of copies by threads take more, too; so do those of what threads multiply. Warpgroups
  // that take turns have large tiles, for which copies by threads need more than 40 as well; so do copies of bytes,
  // and of rows so long that the threads copy fewer than four at once, whose swizzles differ from one to the next.
  const bool byThreads = std::any_of(placement.products.begin(), placement.products.end(),
                                     [](const auto &it) { return it.second.byThreads; });
  // Copies by its threads, of tensors that the engine cannot take, need about 40.
  const bool copiesLittle = schedule.aligned && !placement.copiesByThreads() && !placement.asksStartOfLoads();
  const bool copiesBytes = std::any_of(placement.buffers.begin(), placement.buffers.end(),
                                       [](const plan::Buffer &buffer) { return plan::sharedBits(buffer.elem) == 8; });
  const bool amply = placement.usesTensorMemory() || placement.multipliesByWarps() || byThreads ||
                     ((takesTurns || copiesBytes || copiesLongRows(placement)) && !copiesLittle);
  // Beside one computing warpgroup there are enough for copies by threads that keep many loads on their way.
  const int alone = placement.usesTensorMemory() ? 56 : 160;
  const int producerDefault = n == 1 ? alone : amply ? 56 : n == 2 ? (copiesLittle ? 24 : 40) : 32;
  // A warpgroup that rescales takes 88 then, which suffice for parts of 32 columns.
  const int ofTwo = rescales ? 184 : amply ? 224 : copiesLittle ? 240 : 232;
  const int consumerDefault = n >= 3 ? (amply ? 152 : 160) : n == 2 ? ofTwo : 240;
  producer.registers = static_cast<int>(schedule.producerRegisters.value_or(producerDefault));
  consumer.registers = static_cast<int>(schedule.consumerRegisters.value_or(consumerDefault));
  placement.note(plan::Note::Roles, {},
                 schedule.producerRegisters || schedule.consumerRegisters
                     ? "registers as the schedule says"
                     : fmt::format("registers: what suits {} computing warpgroup{}; the loading one gives up "
                                   "what it does not need",
                                   n, n == 1 ? "" : "s"));
}

int WarpRegisters::left(const plan::Role &computing, const plan::Role &producer, int threads) const {
  if (computing.registers == 0)
    return 0;
  const int warpgroups = threads / (warpsPerWarpgroup * arch.warpSize);
  const int atLaunch = arch.registersPerMultiprocessor / threads / 8 * 8 * warpgroups;
  const int left = atLaunch - producer.registers - computing.registers * computing.totalWarps() / warpsPerWarpgroup;
  return std::clamp(left, fewestRegisters, correctionRegisters);
}

} // namespace tkc::planner
