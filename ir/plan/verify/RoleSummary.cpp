// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/verify/RoleSummary.h"

#include "ir/plan/Turns.h"
#include "ir/plan/verify/GlobalOrder.h"

#include <algorithm>
#include <unordered_map>

namespace tkc::plan {
namespace {

class Resolver {
public:
  Resolver(const Plan &plan, const Role &role, const Numbering &numbering, RoleSummary &summary)
      : numbering(numbering), watched(watchedTensors(plan)), summary(summary) {
    for (const std::vector<Var> *vars : {&plan.preludeVars, &role.vars})
      for (const Var &var : *vars)
        types[var.name] = &var.type;
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) {
        if (stmt.kind != StmtKind::Product || stmt.isSynchronous() || stmt.isTensorProduct())
          return;
        productRegisters.insert(stmt.dest);
        productRegisters.insert(stmt.operands.begin(), stmt.operands.end());
      });
    while (insertMoved(role))
      ;
  }

  ResolvedBody resolve(const Body &body) {
    ResolvedBody result;
    result.reserve(body.size());
    for (const Stmt &stmt : body)
      result.push_back(resolve(stmt));
    return result;
  }

private:
  /// What is moved to such a variable may be the same register.
  bool insertMoved(const Role &role) {
    bool isNew = false;
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) {
        if (stmt.kind == StmtKind::Move && productRegisters.count(stmt.dest))
          isNew |= productRegisters.insert(stmt.operands[0]).second;
      });
    return isNew;
  }

  ResolvedStmt resolve(const Stmt &stmt) {
    ResolvedStmt result;
    result.stmt = &stmt;
    result.number = summary.numStmts++;
    result.ref = resolve(stmt.ref);
    if (stmt.kind == StmtKind::Product) {
      if (stmt.aShared)
        result.a = resolve(stmt.aRef);
      result.dest = resolve(stmt.destRef);
      for (size_t side = 0; side < std::min(stmt.scales.size(), std::size(result.scales)); ++side)
        result.scales[side] = resolve(stmt.scales[side]);
    }
    if (const BarrierRef *ref = stmt.barrier())
      result.barrier = numbering.barrierOf(ref->barrier);
    const VarName cursor = cursorOf(stmt);
    result.cursor = numberOf(cursor);
    result.ringStages = stagesOf(cursor);
    if (const auto type = types.find(stmt.dest); type != types.end())
      result.scalar = isScalar(*type->second) ? type->second : nullptr;
    const auto isOfProducts = [&](const std::string &name) { return productRegisters.count(name) != 0; };
    result.touchesProducts =
        isOfProducts(stmt.dest) || std::any_of(stmt.operands.begin(), stmt.operands.end(), isOfProducts);
    result.isWatched = watched.count(stmt.view.tensor) != 0;
    result.prologue = resolve(stmt.prologue);
    result.body = resolve(stmt.body);
    result.epilogue = resolve(stmt.epilogue);
    result.orElse = resolve(stmt.orElse);
    return result;
  }

  ResolvedRef resolve(const BufferRef &ref) {
    const int slot = ref.buffer.empty() ? -1 : numbering.slotOf(ref.buffer);
    if (slot < 0)
      return {};
    return {.buffer = numbering.slots[static_cast<size_t>(slot)].buffer,
            .slot = slot,
            .cursor = numberOf(ref.cursor),
            .ringStages = stagesOf(ref.cursor),
            .slice = ref.slice,
            .transposed = ref.transposed};
  }

  static bool isScalar(const VarType &type) { return type.kind == VarType::Scalar || type.kind == VarType::TileIndex; }

  int numberOf(const std::string &cursor) {
    if (cursor.empty())
      return 0;
    const auto [entry, isNew] = cursors.try_emplace(cursor, summary.numCursors);
    summary.numCursors += isNew ? 1 : 0;
    return entry->second;
  }

  int64_t stagesOf(const std::string &cursor) const { return cursor.empty() ? 0 : types.at(cursor)->rows; }

  const Numbering &numbering;
  const std::set<std::string> watched;
  RoleSummary &summary;
  std::unordered_map<std::string, const VarType *> types; ///< of the variables that the role sees, axes apart
  std::unordered_map<std::string, int> cursors;
  std::set<std::string> productRegisters; ///< variables that products write, or read as A; what is moved to these
};

} // namespace

RoleSummary::RoleSummary(const Plan &plan, const Role &role, const Numbering &numbering)
    : role(role), oneThread(runsOnOneThread(role)) {
  for (const Body *body : {&role.body, &role.finish})
    walk(*body, [&](const Stmt &stmt) {
      instancesDiffer |= stmt.kind == StmtKind::If && !stmt.turn.empty();
      instancesDiffer |= stmt.kind == StmtKind::Compute && stmt.tileSize > 0;
      instancesDiffer |= differsByTurn(stmt);
    });
  Resolver resolver(plan, role, numbering, *this);
  prelude = resolver.resolve(plan.prelude);
  body = resolver.resolve(role.body);
  finish = resolver.resolve(role.finish);
}

} // namespace tkc::plan
