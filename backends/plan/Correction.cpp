// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/Correction.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;
using VarKind = plan::VarType::Kind;

bool isAccess(const plan::Stmt &stmt) {
  return stmt.kind == Kind::LoadTensor || stmt.kind == Kind::StoreTensor || stmt.kind == Kind::ScaleTensor;
}

/// Calls `visit(statement, depth)`, depth counting the loops around it.
void walk(const plan::Body &body, int depth, const std::function<void(const plan::Stmt &, int)> &visit) {
  for (const plan::Stmt &stmt : body) {
    visit(stmt, depth);
    for (const plan::Body *inner : {&stmt.prologue, &stmt.body, &stmt.epilogue, &stmt.orElse})
      walk(*inner, depth + (stmt.kind == Kind::For ? 1 : 0), visit);
  }
}

class Finder {
public:
  explicit Finder(const plan::Role &role) : role(role) {}

  Correction run() {
    findTensors();
    if (found.tensors.empty())
      return fail("no accumulator is rescaled in tensor memory");
    own();
    if (found.why.empty())
      ownColumns();
    if (found.why.empty())
      findInputs();
    return std::move(found);
  }

private:
  Correction fail(const std::string &why) {
    found.why = why;
    return std::move(found);
  }

  VarKind kindOf(const std::string &name) const {
    const plan::Var *var = role.findVar(name);
    return var ? var->type.kind : plan::VarType::Scalar; // of the grid
  }
  bool isScalar(const std::string &name) const {
    return kindOf(name) == plan::VarType::Scalar || kindOf(name) == plan::VarType::TileIndex;
  }

  void findTensors() {
    walk(role.body, 0, [&](const plan::Stmt &stmt, int depth) {
      if (stmt.kind == Kind::ScaleTensor && depth > 0)
        found.tensors.insert(stmt.ref.buffer);
    });
  }

  /// What is loaded from the accumulators, or stored to them, and all that is made of it.
  void own() {
    for (size_t before = found.vars.size() + 1; before != found.vars.size();) {
      before = found.vars.size();
      walk(role.body, 0, [&](const plan::Stmt &stmt, int) {
        if (stmt.kind == Kind::For || !found.does(stmt))
          return;
        if (!stmt.dest.empty())
          found.vars.insert(stmt.dest);
        if (stmt.kind == Kind::StoreTensor)
          found.vars.insert(stmt.operands[0]);
      });
    }
    walk(role.body, 0, [&](const plan::Stmt &stmt, int depth) {
      const bool inBranch = stmt.kind == Kind::If && stmt.map.empty() && found.doesIn(stmt);
      if (inBranch || (depth > 0 && stmt.kind != Kind::For && found.does(stmt) && stmt.kind != Kind::ScaleTensor))
        found.why = fmt::format("a loop or branch does more with `{}` than multiply its rows", *found.tensors.begin());
    });
  }

  /// Columns that only this role reads, made where nothing is carried: it makes them itself.
  void ownColumns() {
    for (size_t before = found.vars.size() + 1; before != found.vars.size();) {
      before = found.vars.size();
      for (const plan::Var &var : role.vars)
        if (isOnlyRead(var.name))
          found.vars.insert(var.name);
    }
  }

  bool isOnlyRead(const std::string &name) const {
    if (kindOf(name) != plan::VarType::Column && kindOf(name) != plan::VarType::Row)
      return false;
    bool read = false, only = true;
    walk(role.body, 0, [&](const plan::Stmt &stmt, int depth) {
      if (stmt.dest == name)
        only &= depth == 0 && stmt.kind == Kind::Compute && stmt.ref.buffer.empty();
      if (std::count(stmt.operands.begin(), stmt.operands.end(), name) == 0)
        return;
      read = true;
      only &= depth == 0 && found.does(stmt);
    });
    return read && only;
  }

  void findInputs() {
    walk(role.body, 0, [&](const plan::Stmt &stmt, int) {
      if (!found.does(stmt) && !(stmt.kind == Kind::For && found.doesIn(stmt)))
        return;
      for (const std::string &operand : stmt.operands)
        input(operand);
    });
    for (size_t before = found.scalars.size() + 1; before != found.scalars.size();) {
      before = found.scalars.size();
      walk(role.body, 0, [&](const plan::Stmt &stmt, int) {
        if (stmt.kind != Kind::For && !stmt.dest.empty() && found.scalars.count(stmt.dest))
          for (const std::string &operand : stmt.operands)
            input(operand);
      });
    }
  }

  void input(const std::string &name) {
    if (found.vars.count(name))
      return;
    if (isScalar(name)) {
      found.scalars.insert(name);
      return;
    }
    const plan::Var *var = role.findVar(name);
    if (var->type.kind != plan::VarType::Column || var->type.elem != ElemType::F32)
      found.why = fmt::format("`{}`, which is no column of f32, would have to be sent", name);
    found.received.insert(name);
  }

  const plan::Role &role;
  Correction found;
};

} // namespace

bool Correction::does(const plan::Stmt &stmt) const {
  if (stmt.isTensorProduct())
    return false;
  const bool reads = std::any_of(stmt.operands.begin(), stmt.operands.end(),
                                 [&](const std::string &operand) { return vars.count(operand) != 0; });
  return reads || (isAccess(stmt) && isFor(stmt.ref.buffer)) || (!stmt.dest.empty() && vars.count(stmt.dest) != 0) ||
         (stmt.kind == Kind::If && !stmt.map.empty() && doesIn(stmt));
}

bool Correction::doesIn(const plan::Stmt &stmt) const {
  for (const plan::Body *body : {&stmt.prologue, &stmt.body, &stmt.epilogue, &stmt.orElse})
    for (const plan::Stmt &inner : *body)
      if (does(inner) || doesIn(inner))
        return true;
  return false;
}

Correction findCorrection(const plan::Role &role) { return Finder(role).run(); }

bool storesByEngine(const plan::Role &role) {
  bool any = false;
  walk(role.body, 0, [&](const plan::Stmt &stmt, int) { any |= stmt.kind == Kind::CopyOut; });
  return any;
}

void dropUnusedVars(plan::Role &role) {
  std::set<std::string> used;
  const auto note = [&](const plan::Stmt &stmt, int) {
    used.insert({stmt.dest, stmt.cursor, stmt.ref.cursor, stmt.aRef.cursor});
    used.insert(stmt.operands.begin(), stmt.operands.end());
  };
  walk(role.body, 0, note);
  walk(role.finish, 0, note);
  std::erase_if(role.vars, [&](const plan::Var &var) { return !used.count(var.name); });
}

} // namespace tkc::planner
