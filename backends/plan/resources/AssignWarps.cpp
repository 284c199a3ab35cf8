// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/resources/AssignWarps.h"

namespace tkc::planner {

std::vector<plan::Role> assignWarps(BlockRoles block, const WarpRegisters &registers, int &threads) {
  const int warpSize = registers.arch.warpSize;
  std::vector<plan::Role> roles{std::move(block.compute)};
  if (block.correction) {
    block.correction->firstWarp = threads / warpSize;
    threads += block.correction->totalWarps() * warpSize;
  }
  if (block.matrix)
    block.matrix->firstWarp = threads / warpSize;
  threads += block.besideLoads * warpSize;
  if (block.load) {
    // Last in the block: the computing warpgroups count from 0 (runtime/README.md).
    block.load->firstWarp = threads / warpSize;
    block.load->warps = block.loadingWarps;
    threads += block.loadingWarps * warpSize;
    registers.share(*block.load, roles.front(), block.besideLoads, threads);
    if (block.matrix)
      block.matrix->registers = block.load->registers;
    if (block.correction)
      block.correction->registers = registers.left(roles.front(), *block.load, threads);
    roles.insert(roles.begin(), std::move(*block.load));
  }
  if (block.matrix)
    roles.insert(roles.end() - 1, std::move(*block.matrix));
  if (block.correction)
    roles.insert(roles.end() - 1, std::move(*block.correction));
  if (block.bulkReduce) {
    block.bulkReduce->firstWarp = roles.back().totalWarps();
    block.bulkReduce->registers = roles.front().registers;
    roles.insert(roles.end() - 1, std::move(*block.bulkReduce));
  }
  return roles;
}

} // namespace tkc::planner
