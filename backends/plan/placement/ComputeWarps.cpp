// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/ComputeWarps.h"

#include "backends/plan/analysis/LoadAnalysis.h"
#include "backends/plan/analysis/Nest.h"
#include "backends/plan/placement/WarpGrid.h"
#include "ir/Products.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

class Chooser {
public:
  Chooser(const Nest &nest, const arch::Description &arch, const Schedule &schedule, int mostInstances, Placement &out)
      : nest(nest), arch(arch), schedule(schedule), mostInstances(mostInstances), out(out) {}

  void run() {
    int64_t rows = 0, cols = 0;
    bool byWarps = false;
    walkTile(nest, [&](const ir::Op &op, int) {
      if (!ir::isProduct(op))
        return;
      out.hasProducts = true;
      const arch::MatrixInstruction *instruction = instructionOf(op, arch, out);
      byWarps |= instruction ? isByWarps(*instruction) : arch.warpsPerGroup == 1;
      rows = std::max(rows, op.result()->type.rows);
      cols = std::max(cols, op.result()->type.cols);
    });
    if (!out.hasProducts)
      return;
    out.alignment = arch.sharedSpan * 8;
    out.copiesItself = !arch.hasTransactionBarriers;
    out.throughRegisters = out.copiesItself && !arch.hasAsyncCopy;
    out.copiesLate = out.copiesItself && schedule.lateCopies.value_or(0) > 0;
    if (byWarps) {
      chooseWarps();
      out.instances = std::min(out.instances, mostInstances);
      return;
    }
    out.layout = {plan::Layout::Mma, 128, 4, 2};
    // Each has a tile to itself (PingPong.h), or sums of its own of all of it (SplitInBlock.h).
    if (schedule.pingpong.value_or(false) || schedule.splitInBlock.value_or(1) > 1) {
      out.instances = 1;
      return;
    }
    if (usesTensorMemory() && divideLanes(rows, cols))
      return;
    const int64_t instructions = (rows + 63) / 64; // below each other
    int widest = 0;                                // columns of one instruction
    for (const arch::MatrixInstruction &instruction : arch.matrixInstructions)
      widest = std::max(widest, instruction.nMax);
    const bool divideCols = instructions == 1 && cols > widest && cols % 32 == 0;
    const int halves = instructions > 4 && instructions % 4 == 0 ? 4 : 2;
    const int dividing = instructions % 3 == 0 ? 3 : instructions % 2 == 0 || divideCols ? halves : 1;
    const int fitting = std::min(dividing, mostInstances);
    out.instances = static_cast<int>(schedule.warpgroups.value_or(fitting));
    out.note(plan::Note::Roles, {},
             schedule.warpgroups ? fmt::format("{} computing warpgroups, as the schedule says", out.instances)
                                 : fmt::format("{} computing warpgroup{}: the largest product has {} rows, {} times "
                                               "the 64 of one instruction, which so many share",
                                               out.instances, out.instances == 1 ? "" : "s", rows, instructions));
  }

private:
  bool usesTensorMemory() const {
    bool uses = false;
    walkTile(nest, [&](const ir::Op &op, int) {
      const arch::MatrixInstruction *instruction = ir::isProduct(op) ? instructionOf(op, arch, out) : nullptr;
      uses |= instruction && instruction->issuer == arch::Issuer::Thread;
    });
    return uses;
  }

  /// Products of 128 rows have all lanes of tensor memory, those of 64 half of them: 128 an instance where the largest
  /// product has as many, and a thread's registers hold what vector work takes of it.
  bool divideLanes(int64_t rows, int64_t cols) {
    constexpr int64_t mostCols = 192;        // a thread has as many registers of a whole tile as it has columns
    const int64_t instructions = rows / 128; // below each other
    int instances = instructions % 3 == 0 ? 3 : instructions % 2 == 0 ? 2 : 1;
    bool shareCols = instructions == 1 && cols > 64 && cols % 32 == 0 && cols <= 2 * mostCols && isFlat();
    walkTile(nest, [&](const ir::Op &op, int) { // scales come to tensor memory by 128 rows
      shareCols &= !ir::isScaled(op) || op.result()->type.cols % 128 == 0;
    });
    instances = static_cast<int>(schedule.warpgroups.value_or(shareCols ? 2 : instances));
    const bool byCols = shareCols && instances == 2;
    if (rows % 128 != 0 || (!byCols && (rows != 128 * instances || cols > mostCols)))
      return false;
    out.layout.kind = plan::Layout::Tensor;
    out.instances = instances;
    out.byCols = byCols;
    out.note(
        plan::Note::Roles, {},
        fmt::format("{} computing warpgroup{}{}: the largest product has {} rows of {} columns, and 128 rows fill the "
                    "lanes of tensor memory",
                    instances, instances == 1 ? "" : "s", byCols ? ", which share its columns" : "", rows, cols));
    return true;
  }

  /// Operands are loaded, and nothing needs whole rows or columns.
  bool isFlat() const {
    bool flat = true;
    walkTile(nest, [&](const ir::Op &op, int) {
      const bool turns =
          op.kind == ir::OpKind::Transpose && std::any_of(op.result()->users.begin(), op.result()->users.end(),
                                                          [](const ir::Op *user) { return !ir::isProduct(*user); });
      flat &= op.kind != ir::OpKind::Reduce && op.kind != ir::OpKind::Cumsum && !turns;
      if (ir::isProduct(op))
        flat &= isRingLoad(throughTransposes(ir::factorOf(op, 0)).first, out.contested) &&
                isRingLoad(throughTransposes(ir::factorOf(op, 1)).first, out.contested);
    });
    return flat;
  }

  void chooseWarps() {
    const auto isLoaded = [&](const ir::Value *operand) {
      return isRingLoad(throughTransposes(operand).first, out.contested);
    };
    const bool byWaves = std::any_of(arch.matrixInstructions.begin(), arch.matrixInstructions.end(),
                                     [](const auto &row) { return row.issuer == arch::Issuer::Wave; });
    const WaveBlocks blocks = byWaves ? chooseWaveBlocks(nest, isLoaded) : WaveBlocks{};
    const WarpGrid grid = chooseWarpGrid(nest, schedule, isLoaded, arch.warpSize, blocks.side);
    if (byWaves)
      out.layout = {plan::Layout::Mfma, grid.down * arch.warpSize, arch.warpSize / blocks.side, blocks.run};
    else
      out.layout = {plan::Layout::WarpMma, grid.down * arch.warpSize, 4, 2};
    out.instances = grid.instances;
    out.byCols = grid.byCols;
  }

  const Nest &nest;
  const arch::Description &arch;
  const Schedule &schedule;
  const int mostInstances;
  Placement &out;
};

} // namespace

bool isByWarps(const arch::MatrixInstruction &instruction) {
  return instruction.issuer == arch::Issuer::Warp || instruction.issuer == arch::Issuer::Wave;
}

const arch::MatrixInstruction *instructionOf(const ir::Op &dot, const arch::Description &arch,
                                             const Placement &placement) {
  const ElemType elem = ir::factorOf(dot, 0)->type.elem;
  // A kernel's accumulators have one layout, and those of f64 one of their own.
  const plan::Layout &layout = placement.layout;
  if (layout.kind == plan::Layout::Mfma && (elem == ElemType::F64) != (layout.vec == 1))
    return nullptr;
  const ElemType right = ir::factorOf(dot, 1)->type.elem;
  return ir::isScaled(dot) ? arch.findScaledInstruction(elem, right, ir::scalesOf(dot, 0)->type.elem)
                           : arch.findMatrixInstruction(elem, right);
}

void chooseComputeWarps(const Nest &nest, const arch::Description &arch, const Schedule &schedule, int mostInstances,
                        Placement &placement) {
  Chooser(nest, arch, schedule, mostInstances, placement).run();
}

} // namespace tkc::planner
