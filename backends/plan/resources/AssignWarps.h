// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which warps of the block each role has.
#pragma once

#include "backends/plan/resources/WarpRegisters.h"

#include <optional>
#include <vector>

namespace tkc::planner {

/// The roles of a block, those that it has.
struct BlockRoles {
  plan::Role compute;
  std::optional<plan::Role> load, matrix, correction, bulkReduce;
  int loadingWarps = 1;
  int besideLoads = 0; ///< warps that share a warpgroup with those that load
};

/// Gives roles their first warps and registers, and returns them in the order of the plan. `threads`: of the computing
/// role, then of the block.
std::vector<plan::Role> assignWarps(BlockRoles block, const WarpRegisters &registers, int &threads);

} // namespace tkc::planner
