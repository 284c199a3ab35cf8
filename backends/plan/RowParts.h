// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of rows that a loop carries, l = l · r + rowsum(p): linear in what the threads of a row hold, so each thread may
// carry the sum of its own elements, and only after the loops are the parts of a row added up.
#pragma once

#include "backends/plan/Placement.h"
#include "backends/plan/Schedule.h"

#include <set>

namespace tkc::planner {

struct RowParts {
  std::set<const ir::Value *> carried; ///< arguments and results of loops that each thread holds its part of
  std::set<const ir::Op *> sums;       ///< the reductions that then stay within a thread
  std::set<const ir::Value *> ends;    ///< of `carried`: results after which the parts are added up
};

/// For products whose rows lie in the threads of one warp; of those that warpgroups issue only if `late_sums` says so.
/// Loops that follow each other, as those that splitting makes, hand the parts on.
RowParts findRowParts(const Nest &nest, const Placement &placement, const Schedule &schedule);

} // namespace tkc::planner
