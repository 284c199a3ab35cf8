// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/rowwise/EvictLast.h"

#include <algorithm>
#include <map>
#include <set>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;
using Axes = std::set<std::string>;

class Marker {
public:
  Marker(plan::Role &role, const plan::Plan &plan) : role(role), plan(plan) {
    for (const plan::GridAxis &axis : plan.grid.axes)
      axesOf[axis.name] = {axis.name};
    size_t known = 0;
    do {
      known = links;
      plan::walk(role.body, [&](const plan::Stmt &stmt) { note(stmt); });
    } while (links != known);
  }

  std::vector<std::string> run() {
    plan::walk(role.body, [&](plan::Stmt &stmt) { mark(stmt); });
    return tensors;
  }

private:
  /// What a variable depends on, one step further; loops may carry it back.
  void note(const plan::Stmt &stmt) {
    if (!stmt.dest.empty())
      for (const std::string &operand : stmt.operands)
        for (const std::string &axis : Axes(axesOf[operand]))
          links += axesOf[stmt.dest].insert(axis).second ? 1 : 0;
    if (stmt.kind == Kind::Store || stmt.kind == Kind::Atomic)
      written.insert(stmt.view.tensor);
  }

  void mark(plan::Stmt &stmt) {
    if (stmt.kind != Kind::Load || !comesAgain(stmt))
      return;
    stmt.lastInCache = true;
    if (std::find(tensors.begin(), tensors.end(), stmt.view.tensor) == tensors.end())
      tensors.push_back(stmt.view.tensor);
  }

  bool comesAgain(const plan::Stmt &load) const {
    const plan::Var *loaded = role.findVar(load.dest);
    if (!loaded || loaded->type.kind == plan::VarType::Scalar || isPacked(loaded->type.elem) ||
        loaded->type.layout.aligned || load.view.hasGather() || written.count(load.view.tensor) != 0)
      return false;
    Axes axes;
    for (const std::string &operand : load.operands)
      if (const auto found = axesOf.find(operand); found != axesOf.end())
        axes.insert(found->second.begin(), found->second.end());
    return axes.count(plan.grid.axes.back().name) != 0 && axes.size() < plan.grid.axes.size();
  }

  plan::Role &role;
  const plan::Plan &plan;
  std::map<std::string, Axes> axesOf; ///< of the grid, on which a variable depends
  size_t links = 0;                   ///< in axesOf, beyond the axes themselves
  Axes written;
  std::vector<std::string> tensors;
};

} // namespace

std::vector<std::string> evictLast(plan::Role &role, const plan::Plan &plan, const arch::Description &arch) {
  if (!arch.hasEvictionPriority || plan.grid.axes.size() < 2)
    return {};
  return Marker(role, plan).run();
}

} // namespace tkc::planner
