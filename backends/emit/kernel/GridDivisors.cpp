// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/kernel/GridDivisors.h"

#include "backends/emit/kernel/Types.h"

#include <fmt/core.h>

namespace tkc::cuda {

size_t firstRasterAxis(const plan::Grid &grid, size_t first) {
  const size_t end = grid.axes.size();
  return grid.rasterGroup > 0 && end >= first + 2 ? end - 1 - grid.rasterAxes : end;
}

bool isPartOfTile(const plan::Grid &grid, const plan::GridAxis &axis) {
  return axis.name == grid.clusterAxis && axis.tileSize == 0;
}

std::vector<GridDivisor> gridDivisors(const plan::Plan &plan) {
  std::vector<GridDivisor> all;
  if (plan.grid.ragged)
    return all;
  const auto &axes = plan.grid.axes;
  // What is left of the number after the other axes is the place on the first.
  const auto walk = [&](size_t first, size_t end) {
    for (size_t i = first + 1; i < end; ++i)
      if (!isPartOfTile(plan.grid, axes[i]))
        all.push_back({axes[i].name, i, i + 1});
  };
  const size_t rows = firstRasterAxis(plan.grid, 0), end = axes.size();
  walk(0, rows);
  if (rows == end)
    return all;
  if (rows > 0)
    all.push_back({planeKey, rows, end});
  all.push_back({rasterKey, rows, end - 1});
  walk(rows, end - 1);
  return all;
}

std::string memberOf(const GridDivisor &divisor) {
  return divisor.key == rasterKey  ? "raster"
         : divisor.key == planeKey ? "plane_tiles"
                                   : identifier(divisor.key) + "_steps";
}

std::string typeOf(const GridDivisor &divisor, const plan::Grid &grid) {
  return divisor.key == rasterKey ? fmt::format("tk::raster_grid<{}>", grid.rasterGroup) : "tk::divisor";
}

} // namespace tkc::cuda
