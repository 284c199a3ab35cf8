// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/Scales.h"

#include "ir/passes/Passes.h"
#include "support/Diagnostics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tkc::planner {
namespace {

bool has(const arch::Description &arch, const ir::Op &product) {
  return arch.plansBlockScaling &&
         arch.findScaledInstruction(product.operand(0)->type.elem, product.operand(2)->type.elem,
                                    product.operand(1)->type.elem);
}

/// The first product that the GPU lacks.
const ir::Op *findMissing(ir::Function &function, const arch::Description &arch) {
  const ir::Op *missing = nullptr;
  ir::walk(function.body, [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::DotScaled && !missing && !has(arch, op))
      missing = &op;
  });
  return missing;
}

} // namespace

bool settleScales(ir::Function &function, const arch::Description &arch, const Schedule &schedule,
                  DiagnosticEngine &diagnostics) {
  const ir::Op *missing = findMissing(function, arch);
  if (!missing)
    return true;
  if (schedule.allowUpcast.value_or(false)) {
    ir::lowerScales(function);
    return true;
  }
  std::vector<std::string> others;
  for (const arch::Description *other : arch::all())
    if (other->hasBackend && has(*other, *missing))
      others.push_back(fmt::format("`{}`", other->name));
  const std::string compileFor = others.empty() ? "" : fmt::format("compile for {}, or ", fmt::join(others, " or "));
  const SourceLoc at = missing->loc.isValid() ? missing->loc : function.loc;
  diagnostics.report(Diag::scaling_not_on_target, SourceRange{at, at}, arch.name,
                     spelling(missing->operand(0)->type.elem), spelling(missing->operand(1)->type.elem), compileFor);
  return false;
}

} // namespace tkc::planner
