// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/Scales.h"

#include "backends/plan/analysis/LoadAnalysis.h"
#include "backends/plan/analysis/MemoryDependence.h"
#include "backends/plan/placement/Placement.h"
#include "ir/Products.h"
#include "ir/passes/Passes.h"
#include "support/Diagnostics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tkc::planner {
namespace {

/// Null: none, or the planner does not use it.
const arch::MatrixInstruction *find(const arch::Description &arch, const ir::Op &product) {
  if (!arch.plansBlockScaling)
    return nullptr;
  return arch.findScaledInstruction(ir::factorOf(product, 0)->type.elem, ir::factorOf(product, 1)->type.elem,
                                    ir::scalesOf(product, 0)->type.elem);
}

using ir::OpSet;

bool isLoadedSlice(const ir::Value *value, const OpSet &contested) {
  const ir::Op *load = throughTransposes(value).first->definingOp;
  return load && load->kind == ir::OpKind::Load && !load->hasElse && !load->view.hasGather() &&
         load->result()->type.isTile() && isProducerComputed(*load, contested);
}

/// Why the instruction's operands cannot be brought to it as they lie in memory; empty where they can.
std::string whyNotPlanned(const arch::MatrixInstruction &instruction, const ir::Op &product, const OpSet &contested) {
  if (instruction.issuer == arch::Issuer::Thread && product.result()->type.rows % instruction.m != 0)
    return fmt::format("of other than {} rows, or a multiple of these", instruction.m);
  for (size_t side : {0, 1}) {
    const ir::Value *factor = ir::factorOf(product, side);
    if (!isLoadedSlice(ir::scalesOf(product, side), contested))
      return "whose scales are no loaded slices";
    if (!isPacked(factor->type.elem))
      continue;
    if (!isLoadedSlice(factor, contested))
      return "whose packed elements are computed, or masked where a loop ends before they do";
    if ((side == 0) == throughTransposes(factor).second)
      return "whose packed elements are not contiguous along what is contracted";
  }
  return "";
}

bool isMissing(const arch::Description &arch, const ir::Op &product, const OpSet &contested) {
  const arch::MatrixInstruction *instruction = find(arch, product);
  return !instruction || !whyNotPlanned(*instruction, product, contested).empty();
}

/// The first product that the GPU lacks.
const ir::Op *findMissing(ir::Function &function, const arch::Description &arch, const OpSet &contested) {
  const ir::Op *missing = nullptr;
  ir::walk(function.body, [&](const ir::Op &op) {
    if (ir::isScaled(op) && !missing && isMissing(arch, op, contested))
      missing = &op;
  });
  return missing;
}

} // namespace

bool settleScales(ir::Function &function, const arch::Description &arch, const Schedule &schedule,
                  DiagnosticEngine &diagnostics) {
  bool scales = false;
  ir::walk(function.body, [&](const ir::Op &op) { scales |= ir::isScaled(op); });
  if (!scales)
    return true;
  const OpSet contested = findContested(function, findNest(function));
  const ir::Op *missing = findMissing(function, arch, contested);
  if (!missing)
    return true;
  if (schedule.allowUpcast.value_or(false)) {
    ir::lowerScales(function, [&](const ir::Op &product) { return isMissing(arch, product, contested); });
    return true;
  }
  const SourceLoc at = missing->loc.isValid() ? missing->loc : function.loc;
  if (const arch::MatrixInstruction *instruction = find(arch, *missing)) {
    diagnostics.report(Diag::scaling_not_planned, SourceRange{at, at}, arch.name,
                       whyNotPlanned(*instruction, *missing, contested));
    return false;
  }
  std::vector<std::string> others;
  for (const arch::Description *other : arch::all())
    if (other->hasBackend && find(*other, *missing))
      others.push_back(fmt::format("`{}`", other->name));
  const std::string compileFor = others.empty() ? "" : fmt::format("compile for {}, or ", fmt::join(others, " or "));
  diagnostics.report(Diag::scaling_not_on_target, SourceRange{at, at}, arch.name,
                     spelling(missing->operand(0)->type.elem), spelling(missing->operand(1)->type.elem), compileFor);
  return false;
}

} // namespace tkc::planner
