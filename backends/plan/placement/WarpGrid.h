// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the warps of a block share its products, where each warp multiplies by itself: so many of them below each other,
// 16 rows each, in so many instances.
//
//   GEMM 128×256 by 8 warps:  2 down × 4 instances side by side, each warp 64×64
//   attention 128 queries by 4 warps:  4 down, each warp 2 × 16 rows of every tile
#pragma once

#include "backends/plan/analysis/Nest.h"
#include "backends/schedule/Schedule.h"
#include "backends/targets/Description.h"

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tkc::planner {

struct WarpGrid {
  int down = 4; ///< warps of an instance, a power of two
  int instances = 1;
  bool byCols = false; ///< instances share products by columns
};

/// Chooses for the products of `nest`, which has some. `isLoaded` says of an operand that it comes from memory as it
/// is.
/// `lanes` and `warpRows`: of a warp, and of its smallest share.
WarpGrid chooseWarpGrid(const Nest &nest, const Schedule &schedule,
                        llvm::function_ref<bool(const ir::Value *)> isLoaded, int lanes, int64_t warpRows);

/// The blocks of waves that multiply by themselves: as large as all products allow, so that operands are read seldom.
struct WaveBlocks {
  int side = 16;
  int run = 4; ///< neighbours of a row that a lane has
};
WaveBlocks chooseWaveBlocks(const Nest &nest, llvm::function_ref<bool(const ir::Value *)> isLoaded);

} // namespace tkc::planner
