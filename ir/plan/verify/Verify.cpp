// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/verify/Verify.h"

namespace tkc::plan {

std::optional<VarType> typeOf(const Plan &plan, const Role &role, std::string_view name) {
  if (const Var *var = role.findVar(name))
    return var->type;
  for (const GridAxis &axis : plan.grid.axes)
    if (axis.name == name)
      return axis.tileSize == 0 ? VarType{VarType::Scalar, ElemType::I32, 1, 1, {}, {}}
                                : VarType{VarType::TileIndex, ElemType::I32, axis.tileSize, 1, {}, {}};
  for (const Var &var : plan.preludeVars)
    if (var.name == name)
      return var.type;
  return std::nullopt;
}

std::vector<Violation> verify(const Plan &plan, const Budget &budget) {
  Report report;
  checkStructure(plan, budget, report);
  if (report.empty()) {
    checkBudgets(plan, budget, report);
    checkRegisters(plan, budget, report);
    checkProtocol(plan, report);
  }
  return report.take();
}

} // namespace tkc::plan
