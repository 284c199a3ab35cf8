// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/LaunchColumns.h"

#include <algorithm>

namespace tkc::planner {
namespace {

/// The last axis of the grid by whose tiles the right operand of a product is loaded.
std::string axisOfColumns(const plan::Plan &plan) {
  std::string right, found;
  for (const plan::Role &role : plan.roles)
    plan::walk(role.body, [&](const plan::Stmt &stmt) {
      if (stmt.kind == plan::StmtKind::Product)
        right = stmt.ref.buffer;
    });
  for (const plan::GridAxis &axis : plan.grid.axes)
    for (const plan::Role &role : plan.roles)
      plan::walk(role.body, [&](const plan::Stmt &stmt) {
        const bool isOfAxis = std::find(stmt.operands.begin(), stmt.operands.end(), axis.name) != stmt.operands.end();
        if (stmt.kind == plan::StmtKind::CopyIn && stmt.ref.buffer == right && isOfAxis && axis.tileSize > 0)
          found = axis.name;
      });
  return found;
}

} // namespace

std::optional<plan::Obstacle> chooseColumnsAtLaunch(plan::Plan &plan, int64_t step) {
  const std::string name = axisOfColumns(plan);
  if (std::optional<plan::Obstacle> obstacle = plan::whyNoFewerColumns(plan, name, step))
    return obstacle;
  for (plan::GridAxis &axis : plan.grid.axes)
    axis.step = axis.name == name ? step : 0;
  for (const plan::Role &role : plan.roles)
    plan::walk(role.body, [&](const plan::Stmt &stmt) {
      if (plan::storesColumns(stmt, name))
        for (plan::TensorMap &map : plan.maps)
          if (map.name == stmt.map)
            map.tiledBy = name;
    });
  return std::nullopt;
}

} // namespace tkc::planner
