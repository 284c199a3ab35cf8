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

bool runsOnOneThread(const Role &role) {
  bool can = true;
  auto isScalar = [&](const Stmt &stmt) {
    const Var *dest = role.findVar(stmt.dest);
    return dest && (dest->type.kind == VarType::Scalar || dest->type.kind == VarType::TileIndex);
  };
  auto check = [&](const Stmt &stmt) {
    switch (stmt.kind) {
    case StmtKind::Compute:
    case StmtKind::Move:
    case StmtKind::Load:
      can &= isScalar(stmt);
      return;
    case StmtKind::CopyIn:
    case StmtKind::CopyOut:
      can &= !stmt.map.empty();
      return;
    case StmtKind::Product:
      can &= stmt.isTensorProduct();
      return;
    case StmtKind::ProductCommit:
      can &= stmt.barrier() != nullptr;
      return;
    case StmtKind::Store:
    case StmtKind::Atomic:
    case StmtKind::Spread:
    case StmtKind::LoadShared:
    case StmtKind::LookUp:
    case StmtKind::StoreShared:
    case StmtKind::Sync:
    case StmtKind::LoadTensor:
    case StmtKind::StoreTensor:
    case StmtKind::ScaleTensor:
    case StmtKind::ProductFence:
    case StmtKind::ProductWait:
    case StmtKind::ClusterSync:
    case StmtKind::Fetch:
    case StmtKind::Place:
    case StmtKind::Stagger:
    case StmtKind::CopyCommit:
    case StmtKind::CopyWait:
      can = false;
      return;
    case StmtKind::Arrive:
      can &= !stmt.as<Arrive>().byWarps;
      return;
    case StmtKind::FenceProxy: // each thread fences its own accesses
    case StmtKind::TensorFence:
    case StmtKind::Claim:
    case StmtKind::NextTile:
    case StmtKind::Expect:
    case StmtKind::BulkCommit:
    case StmtKind::BulkWait:
    case StmtKind::Wait:
    case StmtKind::Advance:
    case StmtKind::For:
    case StmtKind::If:
    case StmtKind::Record:
    case StmtKind::WaitForPrevious: // of the prelude
    case StmtKind::Ahead:
    case StmtKind::Each:
      return;
    }
  };
  walk(role.body, check);
  walk(role.finish, check);
  return can;
}

bool isInstrumented(const Role &role) {
  const auto records = [](const Stmt &stmt) { return stmt.kind == StmtKind::Record; };
  return any(role.body, records) || any(role.finish, records);
}

std::vector<Violation> verify(const Plan &plan, const Budget &budget) {
  Report report;
  checkStructure(plan, budget, report);
  if (!report.empty())
    return report.take();
  checkOperands(plan, report);
  checkAssigned(plan, report);
  checkWaves(plan, budget, report);
  checkGrains(plan, budget, report);
  checkColumns(plan, report);
  checkOwnMemory(plan, report);
  if (!report.empty())
    return report.take();
  checkBudgets(plan, budget, report);
  bool fits = report.empty();
  checkRegisters(plan, budget, report);
  if (fits) // a plan far over budget could take for ever to run
    checkProtocol(plan, budget, report);
  return report.take();
}

} // namespace tkc::plan
