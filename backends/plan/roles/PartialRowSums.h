// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of rows that a loop carries, l = l · r + rowsum(p): linear in what the threads of a row hold, so each thread may
// carry the sum of its own elements, and only after the loops are the parts of a row added up. Where r and p come from
// a maximum that the loop carries, too, n = max(m, rowmax(t)), r = exp(m - n), p = exp(t' - n), each thread may have
// one of its own: its part is then by exp(m - M) too large, M being the maximum of all.
#pragma once

#include "backends/plan/placement/Placement.h"
#include "backends/schedule/Schedule.h"

#include <map>
#include <set>

namespace tkc::planner {

struct RowParts {
  ir::ValueSet carried;                      ///< arguments and results of loops that each thread holds its part of
  ir::OpSet reductions;                      ///< those that then stay within a thread
  ir::ValueSet ends;                         ///< of `carried`: results after which the parts are put together
  ir::ValueSet lowest;                       ///< arguments of loops that begin with the lowest number instead of -inf
  ir::ValueSet maxima;                       ///< of `carried`: results of maxima
  ir::ValueMap<const ir::Value *> maximumOf; ///< of `carried`: results of sums by such, and that
  ir::ValueMap<ir::OpKind> exponentialOf;    ///< of these sums: Exp or Exp2
};

/// For products whose rows lie in the threads of one warp. Only if `late_sums` says so for those that warpgroups issue,
/// which may share the columns, and for rows that lie in several warps of a kernel without products. Loops that follow
/// each other, as those that splitting makes, hand the parts on.
RowParts findPartialRowSums(const Nest &nest, const Placement &placement, const Schedule &schedule);

} // namespace tkc::planner
