// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/IgnoredNaN.h"

#include <algorithm>
#include <cmath>

namespace tkc::plan {
namespace {

using ir::OpKind;
using ir::ReduceKind;
using Names = std::set<std::string>;

/// By variable, the statements that read it or that write it.
using Statements = std::map<std::string, std::vector<const Stmt *>>;

/// The largest set of variables of which every statement is as it has to be, if it is so of the set's other variables.
template <class IsRight> Names largest(const Statements &statements, const IsRight &isRight) {
  Names names;
  for (const auto &[name, of] : statements)
    names.insert(name);
  const auto isWrong = [&](const std::string &name) {
    const auto &of = statements.at(name);
    return !std::all_of(of.begin(), of.end(), [&](const Stmt *stmt) { return isRight(names, name, *stmt); });
  };
  while (std::erase_if(names, isWrong) > 0)
    ;
  return names;
}

const std::string &otherOperand(const Stmt &stmt, const std::string &than) {
  return stmt.operands[stmt.operands[0] == than ? 1 : 0];
}

class Finder {
public:
  Finder(const Plan &plan, const Role &role) : plan(plan) {
    for (const Body *body : {&plan.prelude, &role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) { note(stmt); });
    numbers = largest(writers,
                      [](const Names &set, const std::string &, const Stmt &stmt) { return givesNumber(stmt, set); });
    notNegative = largest(
        writers, [&](const Names &set, const std::string &, const Stmt &stmt) { return givesNotNegative(stmt, set); });
  }

  void find(ReduceKind kind, Names &found) const {
    const Names ignored = largest(readers, [&](const Names &set, const std::string &name, const Stmt &stmt) {
      return ignores(stmt, name, kind, set);
    });
    for (const auto &[name, stmts] : writers)
      if (ignored.count(name) != 0 && std::all_of(stmts.begin(), stmts.end(), [&](const Stmt *stmt) {
            return stmt->kind == StmtKind::Compute && stmt->op == OpKind::Reduce && stmt->reduce == kind;
          }))
        found.insert(name);
  }

private:
  void note(const Stmt &stmt) {
    for (const std::string &operand : stmt.operands)
      readers[operand].push_back(&stmt);
    if (!stmt.dest.empty())
      writers[stmt.dest].push_back(&stmt);
  }

  /// Of floats: no NaN.
  static bool givesNumber(const Stmt &stmt, const Names &numbers) {
    const auto is = [&](size_t operand) { return numbers.count(stmt.operands[operand]) != 0; };
    if (stmt.kind == StmtKind::Move || stmt.kind == StmtKind::Spread)
      return is(0);
    if (stmt.kind != StmtKind::Compute)
      return false;
    switch (stmt.op) {
    case OpKind::Const:
      return !std::isnan(stmt.constant);
    case OpKind::Full:
    case OpKind::Neg:
    case OpKind::Abs:
      return is(0);
    case OpKind::Max:
    case OpKind::Min:
      return is(0) || is(1);
    case OpKind::Select:
      return is(1) && is(2);
    default:
      return false;
    }
  }

  /// No number below zero, but maybe NaN.
  bool givesNotNegative(const Stmt &stmt, const Names &notNegative) const {
    const auto is = [&](size_t operand) { return notNegative.count(stmt.operands[operand]) != 0; };
    if (stmt.kind == StmtKind::Move)
      return is(0);
    if (stmt.kind != StmtKind::Compute)
      return false;
    switch (stmt.op) {
    case OpKind::Const:
      return stmt.constant >= 0;
    case OpKind::Param: {
      const auto param = std::find_if(plan.params.begin(), plan.params.end(),
                                      [&](const ir::Param &candidate) { return candidate.name == stmt.name; });
      return param != plan.params.end() && param->above;
    }
    case OpKind::Full:
      return is(0);
    case OpKind::Mul:
      return is(0) && is(1);
    default:
      return false;
    }
  }

  /// Whether what a statement makes of an extremum of this kind, directly or in the end, is the same for NaN as for the
  /// extremum of nothing.
  bool ignores(const Stmt &stmt, const std::string &extremum, ReduceKind kind, const Names &ignored) const {
    if (stmt.kind != StmtKind::Compute || stmt.operands.size() != 2)
      return false;
    const std::string &other = otherOperand(stmt, extremum);
    switch (stmt.op) {
    case OpKind::Add: // of an infinity, the infinity or NaN
      return ignored.count(stmt.dest) != 0;
    case OpKind::Sub:
      return stmt.operands[1] != extremum && ignored.count(stmt.dest) != 0;
    case OpKind::Mul:
      return notNegative.count(other) != 0 && ignored.count(stmt.dest) != 0;
    case OpKind::Max:
      return kind == ReduceKind::Max && numbers.count(other) != 0;
    case OpKind::Min:
      return kind == ReduceKind::Min && numbers.count(other) != 0;
    default:
      return false;
    }
  }

  const Plan &plan;
  Statements readers, writers;
  Names numbers, notNegative;
};

} // namespace

std::map<std::string, std::set<std::string>> ignoredNaN(const Plan &plan) {
  std::map<std::string, std::set<std::string>> found;
  for (const Role &role : plan.roles) {
    const Finder finder(plan, role);
    for (const ReduceKind kind : {ReduceKind::Max, ReduceKind::Min})
      finder.find(kind, found[role.name]);
  }
  return found;
}

} // namespace tkc::plan
