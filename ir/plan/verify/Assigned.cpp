// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Definite assignment: a role reads a variable only where every path to the statement has given it a value, in the tile
// that the role is at. One walk forward; a set of variables is a bit each.
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <fmt/core.h>
#include <string_view>
#include <unordered_map>

namespace tkc::plan {
namespace {

/// The variables that have a value.
class Known {
public:
  explicit Known(size_t size) : bits(size) {}
  bool has(size_t var) const { return bits[var]; }
  void add(size_t var) { bits[var] = true; }
  void add(const Known &other) {
    for (size_t i = 0; i < bits.size(); ++i)
      bits[i] = bits[i] || other.bits[i];
  }
  /// What has a value whichever way was taken.
  void meet(const Known &other) {
    for (size_t i = 0; i < bits.size(); ++i)
      bits[i] = bits[i] && other.bits[i];
  }

private:
  std::vector<bool> bits;
};

class Assigned {
public:
  Assigned(const Plan &plan, Report &report) : report(report) {
    for (const Var &var : plan.preludeVars)
      number(var);
    for (const GridAxis &axis : plan.grid.axes)
      numbers.emplace(axis.name, numbers.size());
    global = numbers.size();
  }

  void run(const Plan &plan) {
    Known known(global);
    where = "the prelude";
    straight(plan.prelude, known);
    for (const GridAxis &axis : plan.grid.axes) {
      where = "the grid";
      straight(axis.bounds, known);
      for (const std::string &bound : {axis.lo, axis.hi})
        if (!known.has(numbers.at(bound)))
          report.add(plan.loc, fmt::format("axis `{}` of the grid is bounded by `{}`, which has no value by then",
                                           axis.name, bound));
      known.add(numbers.at(axis.name));
    }
    for (const Role &role : plan.roles)
      check(role, known);
  }

private:
  void number(const Var &var) {
    if (var.type.kind != VarType::Cursor)
      numbers[var.name] = numbers.size();
  }

  void check(const Role &role, const Known &before) {
    const auto shared = numbers;
    where = fmt::format("role `{}`", role.name);
    for (const Var &var : role.vars)
      number(var);
    for (const Body *body : {&role.body, &role.finish}) {
      Known known(numbers.size());
      for (size_t i = 0; i < global; ++i)
        if (before.has(i))
          known.add(i);
      straight(*body, known);
    }
    numbers = shared;
  }

  /// An Ahead, and what has a value where its tile exists.
  using Gained = std::pair<const Stmt *, Known>;

  void straight(const Body &body, Known &known) {
    std::optional<Known> started; // what has a value once the pipeline that ends here has had an iteration
    std::vector<Gained> ahead;
    for (const Stmt &stmt : body) {
      if (stmt.kind == StmtKind::For)
        loop(stmt, known, started);
      else if (stmt.kind == StmtKind::Ahead)
        tileAhead(stmt, known, ahead);
      else
        step(stmt, known);
      if (!ahead.empty())
        std::erase_if(ahead, [&](const Gained &gained) { return changes(stmt, gained.first->operands); });
    }
  }

  static bool changes(const Stmt &stmt, const std::vector<std::string> &names) {
    return any(stmt, [&](const Stmt &inner) {
      return !inner.dest.empty() && std::find(names.begin(), names.end(), inner.dest) != names.end();
    });
  }

  /// Whether two ask for the same tile.
  static bool isSameTile(const Stmt &one, const Stmt &other) {
    return one.operands == other.operands && one.count == other.count && one.tileSize == other.tileSize;
  }

  /// What was fetched where a tile exists can be placed where it does.
  void tileAhead(const Stmt &stmt, Known &known, std::vector<Gained> &ahead) {
    for (const std::string &operand : stmt.operands)
      read(stmt, operand, known);
    Known otherwise = known;
    for (const auto &[before, gained] : ahead)
      if (isSameTile(*before, stmt))
        known.add(gained);
    known.add(numbers.at(stmt.dest));
    straight(stmt.body, known);
    ahead.emplace_back(&stmt, known);
    if (stmt.always)
      return;
    straight(stmt.orElse, otherwise);
    known.meet(otherwise);
  }

  void step(const Stmt &stmt, Known &known) {
    for (const std::string &operand : stmt.operands)
      read(stmt, operand, known);
    if (stmt.kind == StmtKind::If)
      return either(stmt, known);
    if (stmt.kind == StmtKind::Each)
      return straight(stmt.body, known);
    if (stmt.dest.empty())
      return;
    if (stmt.kind == StmtKind::Product && stmt.accumulate)
      read(stmt, stmt.dest, known);
    known.add(numbers.at(stmt.dest));
  }

  /// Said once for each variable on the way.
  void read(const Stmt &stmt, const std::string &name, Known &known) {
    const auto var = numbers.find(name);
    if (var == numbers.end() || known.has(var->second))
      return;
    report.add(stmt.loc,
               fmt::format("`{}` of {} reads `{}`, which has no value there on some path", print(stmt), where, name));
    known.add(var->second);
  }

  void either(const Stmt &stmt, Known &known) {
    Known otherwise = known;
    straight(stmt.body, known);
    straight(stmt.orElse, otherwise);
    known.meet(otherwise);
  }

  /// An iteration knows what the first one does: those before it only add to that.
  void loop(const Stmt &stmt, Known &known, std::optional<Known> &started) {
    for (const std::string &operand : stmt.operands)
      read(stmt, operand, known);
    Known first = known;
    first.add(numbers.at(stmt.dest));
    straight(stmt.prologue, first);
    if (stmt.operands.size() > 2 && started)
      first.meet(*started);
    first.add(numbers.at(stmt.dest));
    Known again = first;
    straight(stmt.body, again);
    started = first;
    straight(stmt.epilogue, first);
    straight(stmt.orElse, known);
    known.meet(first); // what has a value in both cases
  }

  Report &report;
  std::unordered_map<std::string_view, size_t> numbers;
  size_t global = 0; ///< variables of the prelude and axes, which all roles see
  std::string where;
};

} // namespace

void checkAssigned(const Plan &plan, Report &report) { Assigned(plan, report).run(plan); }

} // namespace tkc::plan
