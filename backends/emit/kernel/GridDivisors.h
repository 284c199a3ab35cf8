// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel divides by to find its block's place on the grid. A block has a number; its place on each axis is a
// quotient or a remainder of that number. The launcher knows the divisors, and puts what makes division fast
// (tk/divisor.h) into the kernel's arguments. An example is the grid `b in 0..B, m in tiles(M, 64), n in tiles(N, 64)`
// with a raster of groups of 8 rows. Its arguments have
//   tk::divisor plane_tiles;      // ⌈M / 64⌉ · ⌈N / 64⌉: the number divided by it is b
//   tk::raster_grid<8> raster;    // of what is left, m and n
#pragma once

#include "ir/plan/PlanIR.h"

#include <string>
#include <vector>

namespace tkc::cuda {

/// The steps of the axes from `first` up to `end`, multiplied. A raster has these as its rows, and the steps of axis
/// `end` as its columns.
struct GridDivisor {
  std::string key; ///< the name of the axis, or one of the two below
  size_t first, end;
};
/// Keys of the raster, and of the number of its tiles. The latter is needed where the grid has further axes.
inline constexpr const char *rasterKey = "the raster", *planeKey = "a plane";

/// The first axis of the rows of the grid's raster, whose columns are the last axis. The number of axes where there is
/// no raster. Axes before `first` are not of the raster.
size_t firstRasterAxis(const plan::Grid &grid, size_t first);
/// Whether an axis counts the blocks of a cluster that share one tile: it has one step.
bool isPartOfTile(const plan::Grid &grid, const plan::GridAxis &axis);

/// In the order in which the arguments have them. None where bounds of the grid are read on the GPU: the launcher does
/// not know the divisors then.
std::vector<GridDivisor> gridDivisors(const plan::Plan &plan);

/// The name that its member of the arguments has if no other member has it, and the member's type.
std::string memberOf(const GridDivisor &divisor);
std::string typeOf(const GridDivisor &divisor, const plan::Grid &grid);

} // namespace tkc::cuda
