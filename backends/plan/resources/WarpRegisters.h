// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registers of a block's warps. With setmaxnreg the loading warpgroup gives up what the computing ones need.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// setmaxnreg moves registers between groups of so many warps (PTX ISA).
constexpr int warpsPerWarpgroup = 4;

struct WarpRegisters {
  const arch::Description &arch;
  const Schedule &schedule;
  Placement &placement;
  bool takesTurns = false; ///< computing warpgroups take whole tiles in turns
  bool rescales = false;   ///< a role of its own rescales accumulators

  /// One thread starts the copy engine's copies. It is in a warpgroup of its own where products take one, where threads
  /// always copy something, and where the computing warps need the registers that only a warpgroup can give up.
  /// `besideLoads`: warps that share that warpgroup.
  int loadingWarps(const plan::Role &consumer, int besideLoads) const;

  /// The loading warpgroup gives up what the computing ones need (FlashAttention-3's splits: 24/240/240,
  /// 32/160/160/160). `besideProducer`: warps that issue products. `threads`: of the block.
  void share(plan::Role &producer, plan::Role &consumer, int besideProducer, int threads) const;

  /// For the warpgroup that rescales: what the others leave of those that the block is launched with.
  int left(const plan::Role &computing, const plan::Role &producer, int threads) const;

private:
  /// Whether a thread may have as many registers as there are, in a block of so many warps. They are spread over the
  /// multiprocessor's four parts, which share its registers.
  bool hasAllRegisters(int warps) const;
};

} // namespace tkc::planner
