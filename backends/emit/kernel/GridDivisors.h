// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By what the number of a block is divided for its place on the grid. The launcher knows these numbers, and prepares
// the division (tk/divisor.h): members of the kernel's arguments.
#pragma once

#include "ir/plan/PlanIR.h"

#include <string>
#include <vector>

namespace tkc::cuda {

struct GridDivisor {
  std::string key;   ///< the axis whose steps they are, or one of the two below
  size_t first, end; ///< of these axes; a raster has them as its rows, and the axis `end` as its columns
};
/// Keys of the raster of rows and columns, and of the number of its tiles, where axes lie outside of it.
inline constexpr const char *rasterKey = "the raster", *planeKey = "a plane";

/// Axes of the grid from the returned one up to the last are the rows of its raster, the last its columns; the number
/// of axes where there is no raster.
size_t firstRasterAxis(const plan::Grid &grid, size_t first);
/// Whether an axis counts the blocks of a cluster that share one tile: it has one step.
bool isPartOfTile(const plan::Grid &grid, const plan::GridAxis &axis);

/// None where bounds of the grid are read on the GPU.
std::vector<GridDivisor> gridDivisors(const plan::Plan &plan);

/// The member that is wanted for a divisor, and its type.
std::string memberOf(const GridDivisor &divisor);
std::string typeOf(const GridDivisor &divisor, const plan::Grid &grid);

} // namespace tkc::cuda
