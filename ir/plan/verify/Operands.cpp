// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes over all statements; the rules are in Computed.cpp, Slices.cpp and Factors.cpp. And the layouts of variables.
#include "ir/plan/verify/Operands.h"

#include <algorithm>

namespace tkc::plan {
namespace {

/// Rows and columns of which a layout holds whole multiples (tk/layout.h, `fits`).
std::pair<int64_t, int64_t> unitsOf(const VarType &type) {
  const Layout &layout = type.layout;
  switch (layout.kind) {
  case Layout::Mma:
  case Layout::WarpMma:
  case Layout::Tensor:
    return {instructionRows(layout), 8};
  case Layout::Operand:
    return {64, std::max(4 * 32 / bitWidth(type.elem), 1)};
  case Layout::Mfma:
    return {instructionRows(layout), blockSide(layout)};
  case Layout::Rows:
    return {layout.threads / layout.threadsPerRow, int64_t{layout.threadsPerRow} * layout.vec};
  }
  return {1, 1};
}

class Variables {
public:
  Variables(const Role &role, Report &report) : role(role), report(report) {}

  void check(const Var &var) {
    const VarType &type = var.type;
    if (!isTile(type))
      return;
    const Layout &layout = type.layout;
    const bool isSpread = layout.kind == Layout::Rows;
    const int threads = isSpread ? threadsOf(role) : role.warps * role.lanes;
    if (layout.threads != threads)
      return refuse(var, fmt::format("{} has {}", isSpread ? "the role" : "an instance", threads));
    if (isSpread && type.division != Division::Whole)
      return refuse(var, "all instances together hold rows a row at a time");
    const auto [rows, cols] = unitsOf(type);
    if (hasRows(type) && !fits(type.rows, rows, type.division == Division::Rows))
      refuse(var, fmt::format("instances hold multiples of {} rows", rows));
    if (hasCols(type) && !fits(type.cols, cols, type.division == Division::Cols))
      refuse(var, fmt::format("instances hold multiples of {} columns", cols));
  }

private:
  void refuse(const Var &var, const std::string &why) {
    const SourceLoc loc = role.body.empty() ? SourceLoc() : role.body.front().loc;
    report.add(loc, fmt::format("variable `{}` of role `{}` is {}: {}", var.name, role.name, print(var.type), why));
  }

  bool fits(int64_t extent, int64_t unit, bool divided) const {
    return extent > 0 && extent % (unit * (divided ? role.instances : 1)) == 0;
  }

  const Role &role;
  Report &report;
};

void checkStatement(const OperandCheck &role, const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::Compute:
  case StmtKind::Move:
  case StmtKind::LookUp:
    return checkComputed(role, stmt);
  case StmtKind::Load:
  case StmtKind::Store:
  case StmtKind::Atomic:
  case StmtKind::CopyIn:
  case StmtKind::CopyOut:
  case StmtKind::Fetch:
    return checkSlice(role, stmt);
  case StmtKind::Product:
    return checkFactors(role, stmt);
  default: // what they refer to is all that they have
    return;
  }
}

} // namespace

Scope::Scope(const Plan &plan, const Role &role) {
  types.reserve(role.vars.size() + plan.grid.axes.size() + plan.preludeVars.size());
  for (const Var &var : role.vars)
    types.emplace(var.name, &var.type);
  for (const GridAxis &axis : plan.grid.axes) {
    VarType &type = axes.emplace_back();
    type.elem = ElemType::I32;
    if (axis.tileSize > 0)
      type.kind = VarType::TileIndex, type.rows = axis.tileSize;
    types.emplace(axis.name, &type);
  }
  for (const Var &var : plan.preludeVars)
    types.emplace(var.name, &var.type);
}

void checkOperands(const Plan &plan, Report &report) {
  for (const Role &role : plan.roles) {
    for (const Var &var : role.vars)
      Variables(role, report).check(var);
    const Scope scope(plan, role);
    const OperandCheck check(plan, role, scope, report);
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) { checkStatement(check, stmt); });
  }
  Role prelude;
  prelude.name = "prelude";
  prelude.vars = plan.preludeVars;
  const Scope scope(plan, prelude);
  const OperandCheck check(plan, prelude, scope, report);
  walk(plan.prelude, [&](const Stmt &stmt) { checkStatement(check, stmt); });
  for (const GridAxis &axis : plan.grid.axes)
    walk(axis.bounds, [&](const Stmt &stmt) { checkStatement(check, stmt); });
}

} // namespace tkc::plan
