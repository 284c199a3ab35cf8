// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/GridOrder.h"

#include "backends/plan/Walk.h"
#include "ir/Effects.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tkc::planner {
namespace {

bool dependsOn(const ir::Value *value, const ir::Value *axis) {
  return ir::searchBack(value, [&](const ir::Value *at, std::vector<const ir::Value *> &next) {
    const ir::Op *op = at->definingOp;
    if (op && op->bodies.empty())
      next.assign(op->operands().begin(), op->operands().end());
    return at == axis;
  });
}

} // namespace

void orderGrid(const Nest &nest, Placement &placement, plan::Grid &grid) {
  if (nest.isRagged())
    return;
  std::vector<int> dependentLoads(nest.axes.size(), 0);
  std::vector<bool> lengthens(nest.axes.size(), false);
  walkTile(nest, [&](const ir::Op &op, int depth) {
    for (size_t i = 0; i < nest.axes.size(); ++i) {
      const ir::Value *axis = nest.axes[i]->body().args[0].get();
      if (op.kind == ir::OpKind::Load && depth > 0 && placement.loadKeys.count(&op))
        dependentLoads[i] += std::any_of(op.operands().begin(), op.operands().end(),
                                         [&](const ir::Value *operand) { return dependsOn(operand, axis); });
      if (op.kind == ir::OpKind::For && dependsOn(op.operand(1), axis))
        lengthens[i] = true;
    }
  });
  for (size_t i = 0; i < nest.axes.size(); ++i)
    if (lengthens[i]) {
      grid.reversed.push_back(grid.axes[i].name);
      placement.notes.push_back({plan::Note::Grid,
                                 fmt::format("`{}` is walked from its end: its later tiles have longer loops, and the "
                                             "longest go first",
                                             grid.axes[i].name),
                                 nest.axes[i]->loc});
    }
  std::vector<size_t> order(nest.axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return dependentLoads[x] > dependentLoads[y]; });
  std::vector<plan::GridAxis> axes;
  for (size_t i : order) {
    axes.push_back(std::move(grid.axes[i]));
    if (order.size() > 1)
      placement.notes.push_back(
          {plan::Note::Grid,
           fmt::format("`{}` is axis {} from outside: {} of the loops' loads depend on it; the more, "
                       "the farther out, so that blocks of one time share tiles in L2",
                       axes.back().name, axes.size(), dependentLoads[i]),
           nest.axes[i]->loc});
  }
  grid.axes = std::move(axes);
}

} // namespace tkc::planner
