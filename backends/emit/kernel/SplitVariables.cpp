// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   for j { prologue { s = a; use s }  s = b; use s  epilogue { } }   with no other use of s
//   ⇒ for j { prologue { s = a; use s }  s@body = b; use s@body  epilogue { } }
// A product in flight uses its register operand until somebody waits for it.
#include "backends/emit/kernel/SplitVariables.h"

#include <algorithm>
#include <map>
#include <set>

namespace tkc::cuda {

using plan::Stmt;
using plan::StmtKind;

std::string_view withoutPart(std::string_view var) { return var.substr(0, var.find('@')); }

namespace {

/// Calls `visit(name, isWrite)` on what the statement names itself, in order of execution.
template <class Visit> void visitVars(Stmt &stmt, const Visit &visit) {
  for (std::string &operand : stmt.operands)
    visit(operand, false);
  if (stmt.dest.empty() || stmt.kind == StmtKind::For || stmt.kind == StmtKind::Ahead)
    return;
  if (stmt.kind == StmtKind::Product && stmt.accumulate)
    visit(stmt.dest, false);
  visit(stmt.dest, true);
}

template <class Visit> void visitBody(plan::Body &body, const Visit &visit) {
  plan::walk(body, [&](Stmt &stmt) { visitVars(stmt, visit); });
}

class Splitter {
public:
  explicit Splitter(plan::Role &role) : role(role) {
    for (const plan::Var &var : role.vars)
      if (var.type.kind != plan::VarType::Cursor)
        splittable.insert(var.name);
  }

  void run() {
    count(role.body, total);
    split(role.body);
  }

private:
  using Counts = std::map<std::string, size_t>;

  static void count(plan::Body &body, Counts &counts) {
    visitBody(body, [&](const std::string &var, bool) { ++counts[var]; });
  }

  void split(plan::Body &body) {
    plan::walk(body, [&](Stmt &stmt) {
      if (stmt.kind == StmtKind::For && (!stmt.prologue.empty() || !stmt.epilogue.empty()))
        splitLoop(stmt);
    });
  }

  /// Variables whose first access in the body is a plain assignment at its top level.
  static std::set<std::string> startingVars(plan::Body &body) {
    std::set<std::string> seen, starting;
    for (Stmt &stmt : body) {
      visitVars(stmt, [&](const std::string &var, bool isWrite) {
        if (seen.insert(var).second && isWrite)
          starting.insert(var);
      });
      for (plan::Body *inner : stmt.bodies())
        visitBody(*inner, [&](const std::string &var, bool) { seen.insert(var); });
    }
    return starting;
  }

  /// Register operands of products that the body issues and does not wait for.
  static std::set<std::string> inFlightAtEnd(const plan::Body &body) {
    std::set<std::string> vars;
    for (const Stmt &stmt : body) {
      if (stmt.kind == StmtKind::ProductWait)
        vars.clear();
      else if (stmt.kind == StmtKind::Product && !stmt.aShared && !stmt.isSynchronous())
        vars.insert(stmt.operands[0]);
    }
    return vars;
  }

  void splitLoop(Stmt &loop) {
    struct Part {
      plan::Body *body;
      std::string suffix;
      Counts counts;
      std::set<std::string> starting;
    };
    Part parts[] = {{&loop.prologue, "", {}, {}}, {&loop.body, "@body", {}, {}}, {&loop.epilogue, "@epilogue", {}, {}}};
    Counts inLoop;
    std::set<std::string> inFlight;
    for (Part &part : parts) {
      inFlight.merge(inFlightAtEnd(*part.body));
      count(*part.body, part.counts);
      part.starting = startingVars(*part.body);
      for (const auto &[var, n] : part.counts)
        inLoop[var] += n;
    }
    for (const auto &[var, n] : inLoop) {
      const bool ownsAll = splittable.count(var) && total[var] == n && !inFlight.count(var);
      const bool startsEach = std::all_of(std::begin(parts), std::end(parts), [&](const Part &part) {
        return !part.counts.count(var) || part.starting.count(var);
      });
      if (ownsAll && startsEach)
        for (Part &part : parts)
          if (!part.suffix.empty() && part.counts.count(var))
            rename(*part.body, var, var + part.suffix);
    }
  }

  void rename(plan::Body &body, const std::string &from, const std::string &to) {
    role.vars.push_back({to, role.findVar(from)->type});
    visitBody(body, [&](std::string &var, bool) {
      if (var == from)
        var = to;
    });
  }

  plan::Role &role;
  std::set<std::string> splittable;
  Counts total;
};

} // namespace

plan::Role splitVariables(plan::Role role) {
  Splitter(role).run();
  return role;
}

} // namespace tkc::cuda
