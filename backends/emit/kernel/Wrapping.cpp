// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers wrap in the language, and must not in C++. What finds indices stays plain C++: dims, places in them, and
// their sums and differences are far from the ends of i32. Everything else goes through functions that wrap.
#include "backends/emit/kernel/RolePrinter.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace tkc::cuda {

using ir::OpKind;
using plan::Stmt;
using plan::StmtKind;

std::set<std::string> boundsOfLoops(const plan::Role &role) {
  std::set<std::string> scalars, ofLoops;
  const auto isLoop = [](const Stmt &stmt) { return stmt.kind == StmtKind::For || stmt.kind == StmtKind::Ahead; };
  const auto visitAll = [&](const auto &visit) {
    for (const plan::Body *body : {&role.body, &role.finish})
      plan::walk(*body, visit);
  };
  for (const plan::Var &var : role.vars)
    if (var.type.kind == plan::VarType::Scalar)
      scalars.insert(var.name);
  visitAll([&](const Stmt &stmt) {
    if (isLoop(stmt))
      ofLoops.insert(stmt.operands.begin(), stmt.operands.end());
  });
  for (size_t before = 0; before != scalars.size();) {
    before = scalars.size();
    visitAll([&](const Stmt &stmt) {
      const bool computes = stmt.kind == StmtKind::Compute;
      if (isLoop(stmt) || (computes && scalars.count(stmt.dest) != 0))
        return;
      for (const std::string &operand : stmt.operands)
        if (!computes || !ir::isCompare(stmt.op) || ofLoops.count(operand) == 0)
          scalars.erase(operand);
    });
  }
  return scalars;
}

bool RolePrinter::isIndex(const std::string &var, int depth) const {
  constexpr int deepest = 8;
  constexpr double large = 0x1p30;
  if (ranges.count(var) != 0)
    return true;
  const Stmt *stmt = definitionOf(var);
  if (!stmt || depth > deepest)
    return false;
  const auto are = [&](size_t first) {
    return std::all_of(stmt->operands.begin() + static_cast<std::ptrdiff_t>(first), stmt->operands.end(),
                       [&](const std::string &operand) { return isIndex(operand, depth + 1); });
  };
  if (stmt->kind == StmtKind::Move || stmt->kind == StmtKind::Spread)
    return are(0);
  if (stmt->kind != StmtKind::Compute)
    return false;
  switch (stmt->op) {
  case OpKind::Const:
    return std::fabs(stmt->constant) <= large;
  case OpKind::Dim:
  case OpKind::Iota:
  case OpKind::Index:
    return true;
  case OpKind::Begin:
  case OpKind::End:
  case OpKind::Elements:
    return !isFarMoved(stmt->operands[0]);
  case OpKind::Select:
    return are(1);
  case OpKind::Div:
    return isIndex(stmt->operands[0], depth + 1);
  case OpKind::Mod: // smaller than the divisor
    return isIndex(stmt->operands[1], depth + 1);
  case OpKind::Mul:
    return !mayWrap(*stmt);
  case OpKind::Add:
  case OpKind::Sub:
  case OpKind::Max:
  case OpKind::Min:
    return are(0);
  default:
    return false;
  }
}

static bool isWideInteger(ElemType elem) { return elem == ElemType::I32 || elem == ElemType::I64; }

/// The number that a scalar or every element of a tile is, before it is cast to i32 or i64.
std::optional<double> RolePrinter::constantOf(const std::string &var) const {
  const Stmt *definition = definitionOf(var);
  if (!definition || definition->kind != StmtKind::Compute)
    return std::nullopt;
  if (definition->op == OpKind::Full || (definition->op == OpKind::Cast && isWideInteger(typeOf(var).elem)))
    return constantOf(definition->operands[0]);
  return definition->op == OpKind::Const ? std::optional(definition->constant) : std::nullopt;
}

/// What an integer operation negates: as -x, 0 - x, x * -1 or -1 * x; empty: it is none of these, or has more elements
/// than x.
std::string RolePrinter::negatedBy(const Stmt &stmt) const {
  const plan::VarType &type = typeOf(stmt.dest);
  if (!isWideInteger(type.elem))
    return {};
  if (stmt.op == OpKind::Neg)
    return stmt.operands[0];
  const auto negates = [&](size_t side) {
    return (stmt.op == OpKind::Sub && side == 1 && constantOf(stmt.operands[0]) == 0.0) ||
           (stmt.op == OpKind::Mul && constantOf(stmt.operands[1 - side]) == -1.0);
  };
  for (size_t side = 0; side < stmt.operands.size(); ++side)
    if (negates(side) && typeOf(stmt.operands[side]) == type)
      return stmt.operands[side];
  return {};
}

bool RolePrinter::mayWrap(const Stmt &stmt) const {
  const ElemType elem = typeOf(stmt.dest).elem;
  if (!isWideInteger(elem) || bounds.count(stmt.dest) != 0)
    return false;
  if (stmt.op != OpKind::Mul)
    return !std::all_of(stmt.operands.begin(), stmt.operands.end(),
                        [&](const std::string &operand) { return isIndex(operand); });
  // (x / c) * c is no further from 0 than x, but for what floors.
  for (const size_t side : {0, 1}) {
    const double factor = constantOf(stmt.operands[side]).value_or(0);
    const Stmt *other = definitionOf(stmt.operands[1 - side]);
    if (factor > 0 && other && other->kind == StmtKind::Compute && other->op == OpKind::Div &&
        constantOf(other->operands[1]) == factor && isIndex(other->operands[0]))
      return false;
  }
  return true;
}

} // namespace tkc::cuda
