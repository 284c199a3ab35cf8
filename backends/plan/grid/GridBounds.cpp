// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/GridBounds.h"

#include "backends/plan/analysis/Quotients.h"

#include <algorithm>

namespace tkc::planner {
namespace {

void lowerPreludeOp(RoleBuilder &builder, SharedNames &shared, const ir::Op &op) {
  if (op.results.size() != 1 || op.result()->users.empty())
    return;
  builder.emitCompute(op);
  shared.of[op.result()] = builder.use(op.result());
}

/// What a block computes to find its tile is not what roles compute, though both may come from one expression: it
/// is called for what it is to the grid, `m_begin` and `m_end`.
void nameBound(RoleBuilder &builder, const ir::Op &axis, const ir::Op &bound) {
  const std::string &variable = axis.body().args[0]->name;
  if (bound.result() == axis.operand(0))
    builder.define(bound.result(), variable + "_begin");
  else if (bound.result() == axis.operand(1))
    builder.define(bound.result(), variable + "_end");
}

plan::GridAxis lowerAxis(const Nest &nest, RoleBuilder &builder, SharedNames &shared, size_t i) {
  const ir::Op &op = *nest.axes[i];
  plan::GridAxis axis;
  builder.into(axis.bounds, [&] {
    for (const ir::Op *bound : nest.bounds[i])
      if (!builder.isDefined(bound->result())) {
        nameBound(builder, op, *bound);
        builder.emitCompute(*bound);
      }
  });
  axis.lo = builder.use(op.operand(0));
  axis.hi = builder.use(op.operand(1));
  const ir::Value *induction = op.body().args[0].get();
  axis.name = builder.define(induction);
  shared.of[induction] = axis.name;
  axis.tileSize = op.tileSize;
  return axis;
}

} // namespace

SharedNames lowerGrid(const ir::Function &function, const Nest &nest, plan::Plan &plan) {
  Placement none; // what lies in shared memory has nothing to do with the grid
  none.quotients = quotientsOf(function, nest, false);
  RoleBuilder builder(none, {});
  SharedNames shared;
  for (const ir::Op *op : nest.prelude)
    lowerPreludeOp(builder, shared, *op);
  plan.prelude = std::move(builder.role.body);
  for (size_t i = 0; i < nest.axes.size(); ++i)
    plan.grid.axes.push_back(lowerAxis(nest, builder, shared, i));
  plan.grid.ragged = nest.isRagged();
  shared.taken = builder.takenNames();
  for (plan::Var &var : builder.role.vars) // the grid declares its axes itself
    if (std::none_of(plan.grid.axes.begin(), plan.grid.axes.end(),
                     [&](const auto &axis) { return axis.name == var.name; }))
      plan.preludeVars.push_back(std::move(var));
  return shared;
}

} // namespace tkc::planner
