// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/WaveSchedule.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

constexpr int alternatingWaves = 8; ///< two for each SIMD of a unit
constexpr int leastStages = 3;
constexpr int64_t turnBytes = 64; ///< of k, at least: what every instruction divides

/// Operands of a turn wait in registers beside the accumulators; two waves share a SIMD's.
constexpr int64_t mostOperandRegisters = 64;

/// Bytes of k that the kernel's one product contracts; 0: it has more than one, or none of this kind.
int64_t contractedBytes(const Placement &placement) {
  if (placement.products.size() != 1)
    return 0;
  const auto &[dot, product] = *placement.products.begin();
  if (!product.byWarps || product.a.kind != Operand::Ring || product.b.kind != Operand::Ring)
    return 0;
  const plan::Buffer &b = *placement.findBuffer(product.b.buffer);
  return plan::sharedBytes(b.elem, product.b.transposed ? b.cols : b.rows);
}

/// Registers a lane that the operands of so many bytes of k take.
int64_t operandRegisters(const Placement &placement, int64_t bytes) {
  const plan::VarType &made = placement.products.begin()->second.made;
  const int64_t rows = made.rows / (made.division == plan::Division::Rows ? placement.instances : 1);
  const int64_t cols = made.cols / (made.division == plan::Division::Cols ? placement.instances : 1);
  const int64_t waves = made.layout.threads / placement.warpSize;
  return (rows / waves + cols) * bytes / 4 / placement.warpSize;
}

/// Whether some product reads what can be spread between its instructions.
bool canInterleave(const Placement &placement) {
  return std::any_of(placement.products.begin(), placement.products.end(), [](const auto &entry) {
    const ProductPlacement &product = entry.second;
    return product.byWarps && !product.isScaled() && product.b.kind != Operand::Register;
  });
}

constexpr const char *onePlainProduct = "it takes one loop that does nothing but one product of two loaded operands";

std::string whyNotAlternating(const arch::Description &arch, const Placement &placement) {
  if (!placement.hasPlainLoop || contractedBytes(placement) == 0)
    return onePlainProduct;
  if (!placement.directLoads)
    return fmt::format("it takes operands that come straight to shared memory, 16 bytes a thread, and `{}` brings them "
                       "through registers",
                       arch.name);
  if (!placement.loadsAlways)
    return "it takes blocks that end after one tile";
  const int waves = placement.layout.threads * placement.instances / placement.warpSize;
  if (waves != alternatingWaves || placement.instances % 2 != 0)
    return fmt::format("it takes eight waves in two halves, and there are {} in {} groups", waves, placement.instances);
  if (contractedBytes(placement) % turnBytes != 0)
    return fmt::format("it takes tiles of a multiple of {} bytes along k", turnBytes);
  const bool isDeep = placement.rings.size() == 1 && placement.rings.front().stages >= leastStages;
  return isDeep ? ""
                : fmt::format("it takes a ring of {} stages, for which a smaller tile along k makes room", leastStages);
}

} // namespace

void chooseWaveSchedule(const arch::Description &arch, const Schedule &schedule, Placement &placement,
                        std::string &error) {
  const auto note = [&](const std::string &text) { placement.notes.push_back({plan::Note::Overlap, text, {}}); };
  if (placement.layout.kind != plan::Layout::Mfma || !placement.copiesItself)
    return;
  const std::string why = whyNotAlternating(arch, placement);
  const bool asksToInterleave = schedule.interleave.value_or(false);
  if (schedule.alternate.value_or(why.empty() && !asksToInterleave)) {
    if (!why.empty() || asksToInterleave) {
      error = "alternating waves: " + (why.empty() ? "`interleave` is another schedule" : why);
      return;
    }
    const int64_t bytes = contractedBytes(placement);
    placement.turns = 1;
    while (operandRegisters(placement, bytes / placement.turns) > mostOperandRegisters &&
           bytes / placement.turns % (2 * turnBytes) == 0)
      placement.turns *= 2;
    return note(fmt::format("two halves of four waves load and multiply in turns, {} an iteration", placement.turns));
  }
  // Among vector work the compiler has other reasons for its order: there it is left to the schedule.
  const bool isPlain = placement.hasPlainLoop && contractedBytes(placement) != 0;
  placement.interleaves = schedule.interleave.value_or(isPlain);
  if (placement.interleaves && !canInterleave(placement))
    error = "interleaved waves: it takes products by waves out of shared memory, without block scales";
  else if (placement.interleaves)
    note(fmt::format("reads of operands are spread between the products; waves do not alternate: {}",
                     why.empty() ? "as the schedule says" : why));
}

} // namespace tkc::planner
