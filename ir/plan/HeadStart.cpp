// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/HeadStart.h"

#include <algorithm>
#include <map>
#include <set>

namespace tkc::plan {
namespace {

bool isScalar(const VarType &type) { return type.kind == VarType::Scalar || type.kind == VarType::TileIndex; }

/// Computes a number, from dims and constants in the end.
bool computesScalar(const std::vector<Var> &vars, const Stmt &stmt) {
  if (stmt.kind != StmtKind::Compute && stmt.kind != StmtKind::Move)
    return false;
  if (stmt.op == ir::OpKind::ExternCall)
    return false;
  return std::any_of(vars.begin(), vars.end(),
                     [&](const Var &var) { return var.name == stmt.dest && isScalar(var.type); });
}

/// A block's first tile is known by its number alone, and what the role reads of the prelude by the arguments alone.
bool beginsByNumber(const Plan &plan) {
  if (plan.grid.axes.empty() || plan.grid.ragged || plan.grid.dynamic || plan.grid.counted)
    return false;
  return std::all_of(plan.prelude.begin(), plan.prelude.end(), [&](const Stmt &stmt) {
    return stmt.kind == StmtKind::WaitForPrevious || computesScalar(plan.preludeVars, stmt);
  });
}

/// What reaches the other blocks of a cluster waits until these have made their barriers.
bool isHeadStatement(const Stmt &stmt) {
  if (stmt.inFirst || reachesOtherBlocks(stmt))
    return false;
  if (stmt.kind == StmtKind::Wait)
    return stmt.as<Wait>().inverted;
  if (stmt.kind == StmtKind::CopyIn)
    return !stmt.map.empty();
  if (stmt.kind == StmtKind::Advance)
    return !stmt.as<Advance>().own && stmt.as<Advance>().turns == 0;
  return stmt.kind == StmtKind::Expect;
}

/// Whether each cursor is used and then moved on by one.
bool movesEachOnce(const Stmt &loop) {
  std::set<std::string> used, moved;
  for (const Stmt &stmt : loop.body) {
    if (const BarrierRef *ref = stmt.barrier()) {
      if (ref->cursor.empty() || moved.count(ref->cursor))
        return false;
      used.insert(ref->cursor);
    } else if (stmt.kind == StmtKind::Advance && !moved.insert(stmt.as<Advance>().ring).second) {
      return false;
    }
  }
  return !used.empty() && used == moved;
}

bool isHeadLoop(const Stmt &stmt) {
  return stmt.kind == StmtKind::For && stmt.tileSize > 0 && stmt.turns == 0 && stmt.operands.size() == 2 &&
         stmt.prologue.empty() && stmt.epilogue.empty() && stmt.orElse.empty() &&
         std::all_of(stmt.body.begin(), stmt.body.end(), isHeadStatement) && movesEachOnce(stmt);
}

} // namespace

bool asksForCopies(const Stmt &stmt) { return stmt.kind != StmtKind::Advance; }

const Stmt *headLoop(const Plan &plan, const Role &role) {
  if (!runsOnOneThread(role) || role.inFirst || role.instances != 1 || role.isAligned() || !beginsByNumber(plan))
    return nullptr;
  for (const Stmt &stmt : role.body)
    if (!computesScalar(role.vars, stmt))
      return isHeadLoop(stmt) ? &stmt : nullptr;
  return nullptr;
}

int mostHeadStart(const Plan &plan, const Role &role) {
  const Stmt *loop = headLoop(plan, role);
  int most = 0;
  if (loop)
    for (const Stmt &stmt : loop->body)
      if (const BarrierRef *ref = stmt.barrier()) {
        const int stages = plan.findBarrier(ref->barrier)->stages;
        most = most == 0 ? stages : std::min(most, stages);
      }
  return most;
}

} // namespace tkc::plan
