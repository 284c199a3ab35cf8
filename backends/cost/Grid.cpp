// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cost/Grid.h"

#include "support/Tensor.h"

#include <algorithm>
#include <numeric>

namespace tkc::cost {
namespace {

void runScalars(const plan::Plan &plan, const plan::Body &body, plan::Scalars &scalars) {
  for (const plan::Stmt &stmt : body)
    if (stmt.kind == plan::StmtKind::Compute || stmt.kind == plan::StmtKind::Move || stmt.kind == plan::StmtKind::Load)
      for (const plan::Var &var : plan.preludeVars)
        if (var.name == stmt.dest)
          scalars.run(stmt, var.type, 0);
}

int64_t dimOf(const ir::DimExpr &dim, const CallShape &call) {
  const auto value = ir::evaluate(dim, [&](const std::string &symbol) -> std::optional<int64_t> {
    auto found = call.dims.find(symbol);
    return found == call.dims.end() ? std::nullopt : std::optional(found->second);
  });
  return value.value_or(1);
}

} // namespace

int rowAlignment(const ir::Param &tensor, const CallShape &call) {
  if (const auto known = call.alignments.find(tensor.name); known != call.alignments.end())
    return static_cast<int>(known->second);
  int64_t elements = 1, alignment = maxAlignment;
  for (size_t i = tensor.dims.size(); i-- > 1;) {
    elements *= dimOf(tensor.dims[i], call);
    alignment = std::gcd(alignment, bytesOf(tensor.elem, elements));
  }
  return static_cast<int>(alignment);
}

double elementsOf(const ir::Param &tensor, const CallShape &call) {
  double count = 1;
  for (const ir::DimExpr &dim : tensor.dims)
    count *= static_cast<double>(dimOf(dim, call));
  return count;
}

plan::Inputs inputsOf(const plan::Plan &plan, const CallShape &call) {
  plan::Inputs inputs;
  inputs.dims = call.dims;
  inputs.params = call.scalars;
  for (const plan::TensorMap &map : plan.maps)
    for (const ir::Param &param : plan.params)
      if (param.name == map.tensor)
        inputs.mapsFit[map.name] = rowAlignment(param, call) >= 16;
  return inputs;
}

bool suits(const plan::Plan &plan, const CallShape &call) {
  const plan::Inputs inputs = inputsOf(plan, call);
  return std::all_of(inputs.mapsFit.begin(), inputs.mapsFit.end(), [](const auto &map) { return map.second; });
}

Grid::Grid(const plan::Plan &plan, const plan::Inputs &inputs) : plan(plan), prelude(inputs) {
  runScalars(plan, plan.prelude, prelude);
  plan::Scalars scalars = prelude;
  for (const plan::GridAxis &axis : plan.grid.axes) {
    runScalars(plan, axis.bounds, scalars);
    Axis it;
    it.lo = plan::toInteger(scalars.get(axis.lo).value);
    it.hi = plan::toInteger(scalars.get(axis.hi).value);
    it.step = std::max<int64_t>(axis.tileSize, 1);
    it.blocks = plan.blocksAlong(axis.name);
    it.steps = std::max<int64_t>(0, (it.hi - it.lo + it.step - 1) / it.step);
    it.steps = (it.steps + it.blocks - 1) / it.blocks;
    const auto &reversed = plan.grid.reversed;
    it.reversed = std::find(reversed.begin(), reversed.end(), axis.name) != reversed.end();
    axes.push_back(it);
    count *= it.steps;
    if (it.steps > 0)
      scalars.set(axis.name, value(it, 0));
  }
}

plan::Scalar Grid::value(const Axis &axis, int64_t index) const {
  if (axis.reversed)
    index = axis.steps - 1 - index;
  index *= axis.blocks;
  const int64_t begin = axis.lo + index * axis.step;
  return {static_cast<double>(begin), begin, std::min(begin + axis.step, axis.hi), index};
}

Tile Grid::tile(int64_t number) const {
  Tile result(axes.size());
  size_t next = axes.size();
  // As tk::raster: raster groups of so many rows, walked down first.
  if (plan.grid.rasterGroup > 0 && axes.size() >= 2) {
    const Axis &cols = axes[--next];
    int64_t rows = 1;
    for (int i = 1; i <= plan.grid.rasterAxes; ++i)
      rows *= axes[next - i].steps;
    const int64_t area = rows * cols.steps, within = number % area;
    const int64_t group = plan.grid.rasterGroup * cols.steps, first = within / group * plan.grid.rasterGroup;
    const int64_t height = std::min<int64_t>(rows - first, plan.grid.rasterGroup), at = within % group;
    result[next] = value(cols, at / height);
    number = number / area * rows + first + at % height;
  }
  while (next-- > 0) {
    result[next] = value(axes[next], number % axes[next].steps);
    number /= axes[next].steps;
  }
  return result;
}

plan::Scalars Grid::scalars(const Tile &tile) const {
  plan::Scalars scalars = prelude;
  for (size_t i = 0; i < tile.size(); ++i)
    scalars.set(plan.grid.axes[i].name, tile[i]);
  return scalars;
}

} // namespace tkc::cost
