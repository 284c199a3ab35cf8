// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles whose columns the launcher chooses: nothing that lies beyond them reaches anybody.
#include "ir/plan/Columns.h"

#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::plan {

void checkColumns(const Plan &plan, Report &report) {
  const auto &axes = plan.grid.axes;
  const GridAxis *axis = plan.steppedAxis();
  if (std::count_if(axes.begin(), axes.end(), [](const GridAxis &each) { return each.step > 0; }) > 1)
    return report.add(plan.loc, "the launcher chooses how large tiles are along several axes");
  for (const TensorMap &map : plan.maps)
    if (!map.tiledBy.empty() && (!axis || map.tiledBy != axis->name))
      report.add(plan.loc, fmt::format("map `{}` is tiled by `{}`, whose tiles have one size", map.name, map.tiledBy));
  if (!axis)
    return;
  if (const std::optional<Obstacle> obstacle = whyNoFewerColumns(plan, axis->name, axis->step))
    report.add(obstacle->loc,
               fmt::format("the launcher chooses the columns of tiles of `{}`: {}", axis->name, obstacle->why));
  for (const Role &role : plan.roles)
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) {
        const bool copies = (stmt.kind == StmtKind::CopyIn || stmt.kind == StmtKind::CopyOut) && !stmt.map.empty();
        if (copies && storesColumns(stmt, axis->name) == plan.findMap(stmt.map)->tiledBy.empty())
          report.add(stmt.loc,
                     fmt::format("`{}`: boxes of a map end with the tiles of `{}` where these are stored, and "
                                 "nowhere else",
                                 print(stmt), axis->name));
      });
}

} // namespace tkc::plan
