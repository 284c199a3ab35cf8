// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lowering of every role needs: names for values, and statements for work on scalars and tile indices.
#pragma once

#include "backends/plan/placement/Placement.h"

#include <map>
#include <set>
#include <string>

namespace tkc::planner {

/// Named barriers of the consumers: one over all of them, and one an instance from the next id on.
constexpr int allConsumersBarrier = 1;
constexpr int instanceBarrier = 2;

/// What could not be lowered, and where.
struct Unsupported {
  SourceLoc loc;
  std::string what;
};

class RoleBuilder {
public:
  RoleBuilder(const Placement &placement, const SharedNames &shared);

  /// The variable that holds `value`; asserts that it was defined.
  const std::string &use(const ir::Value *value) const;
  bool isDefined(const ir::Value *value) const { return names.count(value) != 0; }
  /// A new variable for `value`, or the one it has.
  const std::string &define(const ir::Value *value);
  /// The same, where what `value` is here says more than what it was made of.
  const std::string &define(const ir::Value *value, const std::string &hint);
  /// `value` shares the variable `name`.
  void alias(const ir::Value *value, const std::string &name) { names[value] = name; }
  /// What values are called here. A second lowering of the same ops sets it back when it is done.
  using Names = ir::ValueMap<std::string>;
  const Names &visibleNames() const { return names; }
  void setVisibleNames(const Names &all) { names = all; }
  void forget(const ir::Value *value) { names.erase(value); }
  /// A fresh variable.
  std::string declare(const std::string &hint, const plan::VarType &type);
  const std::set<std::string> &takenNames() const { return taken; }
  plan::VarType typeOf(const ir::Value *value) const;

  plan::Stmt &emit(plan::StmtKind kind, SourceLoc loc);
  template <plan::IsStatement S> plan::Stmt &emit(S statement, SourceLoc loc) {
    return plan::append(*at, std::move(statement), loc);
  }
  /// dest = op(operands), with the tile op's attributes.
  plan::Stmt &emitCompute(const ir::Op &op);
  /// The view of a load or store, with what its variables pad noted at its gathers.
  ir::View viewOf(const ir::Op &op) const;
  void emitMove(const std::string &dest, const std::string &source, SourceLoc loc);
  /// What every instance holds is stored by the first.
  void emitStoreShared(const std::string &source, const plan::VarType &type, const std::string &buffer, bool transposed,
                       SourceLoc loc);

  /// Of the role that computes.
  int totalThreads() const { return placement.layout.threads * placement.instances; }
  int barrierOfAll() const { return placement.hasNamedBarriers ? allConsumersBarrier : 0; }
  void syncAll(SourceLoc loc) { emit(plan::Sync{barrierOfAll(), totalThreads()}, loc); }

  /// A new variable that is `op` of others.
  std::string emitScalar(ir::OpKind op, const std::string &hint, ElemType elem, std::vector<std::string> operands,
                         SourceLoc loc);
  /// Whether the tile begins at a multiple of `step`, a power of two: a truth value.
  std::string emitStarts(const std::string &tile, int64_t step, SourceLoc loc);

  /// Runs `fill` with statements going to `body`.
  template <class Fill> void into(plan::Body &body, Fill fill) {
    plan::Body *saved = at;
    at = &body;
    fill();
    at = saved;
  }

  /// A loop that `fill` gives a body, without what it carries.
  template <class Fill> void emitWalk(const ir::Op &loop, Fill fill) {
    plan::Stmt stmt;
    stmt.kind = plan::StmtKind::For;
    stmt.loc = loop.loc;
    stmt.operands = {use(loop.operand(0)), use(loop.operand(1))};
    stmt.tileSize = loop.tileSize;
    stmt.dest = define(loop.body().args[0].get());
    into(stmt.body, fill);
    emit(plan::StmtKind::For, loop.loc) = std::move(stmt);
  }

  plan::Role role;

protected:
  const Placement &placement;

private:
  std::string uniqueName(const std::string &hint);

  Names names;
  std::set<std::string> taken;
  plan::Body *at;
};

/// The type of a variable for a scalar or a tile index.
plan::VarType scalarOrIndexType(const ir::Type &type);

/// The type of a cursor through `stages` stages.
plan::VarType cursorType(int stages);

} // namespace tkc::planner
