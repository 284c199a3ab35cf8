// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/pipeline/JoinPipelines.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tkc::planner {
namespace {

using plan::Body;
using plan::Stmt;
using Kind = plan::StmtKind;
using Names = std::map<std::string, std::string>;

bool isPipelined(const Stmt &stmt) {
  return stmt.kind == Kind::For && !stmt.prologue.empty() && !stmt.epilogue.empty();
}

void rename(std::string &name, const Names &names) {
  if (const auto found = names.find(name); found != names.end())
    name = found->second;
}

void rename(Body &body, const Names &names) {
  walk(body, [&](Stmt &stmt) {
    rename(stmt.dest, names);
    for (std::string &operand : stmt.operands)
      rename(operand, names);
  });
}

class Joiner {
public:
  explicit Joiner(plan::Role &role) : role(role) {}

  void run() {
    Body &body = role.body;
    for (size_t first = 0; first < body.size(); ++first) {
      size_t second = first + 1;
      while (second < body.size() && isScalar(body[second]))
        ++second;
      if (second == body.size() || !isPipelined(body[first]) || !goesOn(body[first], body[second]))
        continue;
      const size_t start = startOf(first);
      const Body between{at(first + 1), at(second)};
      if (std::any_of(at(start), at(first + 1), [&](Stmt &loop) { return writes(loop, between); }))
        continue;
      if (const std::optional<Names> names = carried(body[first].epilogue, body[second]))
        join(start, first, second, *names);
    }
  }

private:
  Body::iterator at(size_t number) { return role.body.begin() + static_cast<std::ptrdiff_t>(number); }

  /// The first loop of the pipeline that this one is of. They stand one behind the other.
  size_t startOf(size_t loop) const {
    while (role.body[loop].operands.size() > 2)
      --loop;
    return loop;
  }

  /// Of each thread for itself, without memory.
  bool isScalar(const Stmt &stmt) const {
    const plan::Var *var = stmt.kind == Kind::Compute || stmt.kind == Kind::Move ? role.findVar(stmt.dest) : nullptr;
    return var && var->type.kind == plan::VarType::Scalar;
  }

  static bool goesOn(const Stmt &first, const Stmt &second) {
    return isPipelined(second) && second.tileSize == first.tileSize && second.operands[0] == first.operands[1] &&
           first.orElse.empty() && second.orElse.empty();
  }

  /// Whether the loop writes what the statements behind it read.
  static bool writes(Stmt &loop, const Body &behind) {
    std::set<std::string> written{loop.dest};
    for (Body *part : {&loop.prologue, &loop.body, &loop.epilogue})
      walk(*part, [&](Stmt &stmt) { written.insert(stmt.dest); });
    return std::any_of(behind.begin(), behind.end(), [&](const Stmt &stmt) {
      return std::any_of(stmt.operands.begin(), stmt.operands.end(),
                         [&](const std::string &operand) { return written.count(operand) != 0; });
    });
  }

  /// If the loops end alike: what the second calls the variables that the first leaves for its end. Those are its own.
  std::optional<Names> carried(const Body &first, Stmt &second) {
    if (first.size() != second.epilogue.size())
      return std::nullopt;
    Names names;
    for (size_t i = 0; i < first.size(); ++i)
      if (!pair(first[i], second.epilogue[i], names))
        return std::nullopt;
    std::erase_if(names, [](const auto &name) { return name.first == name.second; });
    for (const auto &[from, to] : names)
      if (!isOwn(from, second) || role.findVar(from)->type != role.findVar(to)->type)
        return std::nullopt;
    return names;
  }

  /// Whether two statements differ at most in the names of variables, which are noted.
  static bool pair(const Stmt &first, Stmt second, Names &names) {
    if (first.operands.size() != second.operands.size() || !first.body.empty() || !second.body.empty())
      return false;
    const auto note = [&](const std::string &to, std::string &from) {
      const bool same = names.emplace(from, to).first->second == to;
      from = to;
      return same;
    };
    bool same = note(first.dest, second.dest);
    for (size_t i = 0; i < first.operands.size(); ++i)
      same &= note(first.operands[i], second.operands[i]);
    return same && plan::print(first) == plan::print(second);
  }

  /// A register variable of this loop alone, not its index.
  bool isOwn(const std::string &name, Stmt &loop) {
    const plan::Var *var = role.findVar(name);
    return var && var->type.kind == plan::VarType::Fragment &&
           uses(name, loop.prologue) + uses(name, loop.body) + uses(name, loop.epilogue) == uses(name, role.body);
  }

  static size_t uses(const std::string &name, Body &body) {
    size_t count = 0;
    walk(body, [&](const Stmt &stmt) {
      count += static_cast<size_t>(std::count(stmt.operands.begin(), stmt.operands.end(), name)) +
               (stmt.dest == name ? 1 : 0);
    });
    return count;
  }

  /// What stands between the two loops goes before the first of their pipeline, at `start`.
  void join(size_t start, size_t first, size_t second, const Names &names) {
    Body &body = role.body;
    Stmt &loop = body[second];
    for (Body *part : {&loop.prologue, &loop.body, &loop.epilogue})
      rename(*part, names);
    loop.operands.push_back(body[start].operands[0]);
    body[first].epilogue.clear();
    std::rotate(at(start), at(first + 1), at(second));
    std::erase_if(role.vars, [&](const plan::Var &var) { return names.count(var.name) != 0; });
  }

  plan::Role &role;
};

} // namespace

void joinPipelines(plan::Role &role) { Joiner(role).run(); }

} // namespace tkc::planner
