// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The role that issues products into tensor memory: one thread for each instance of the computing role, walking the
// same loops. Synchronisation follows from what a product needs and what needs it:
//   operands of a ring: the ring's full barrier before, and a commit on its empty barrier after the last product
//   all else that the computing role did before the product stands: its warps arrive (`x.go`), and the product waits
//   the computing role touches a result, or overwrites an operand: the product commits (`x.done`), and it waits
//   accumulators that one loop fills and one load empties: a ring of their own (`x.free`, `x.ready`)
#pragma once

#include "backends/plan/placement/Placement.h"
#include "backends/plan/roles/RoleBuilder.h"

#include <optional>

namespace tkc::planner {

struct MatrixRoleResult {
  plan::Role matrix;
  std::optional<plan::Role> correction; ///< rescales accumulators
  std::string whyNoCorrection;          ///< where it was asked for in vain
  std::vector<plan::TensorBuffer> tensors;
  std::vector<plan::Barrier> barriers;      ///< its own, beside those of rings
  std::map<std::string, int> emptyArrivals; ///< of each ring's empty barrier
  int64_t columns = 0;                      ///< of tensor memory in use
  std::vector<Unsupported> unsupported;
  bool failsForPairs = false; ///< products of pairs of blocks take loops of products alone; then all else is void
};

/// Takes the products out of the computing role, which was lowered without any synchronisation, and synchronises both.
/// `columns`: what there is of tensor memory; `accumulatorStages`: of accumulators that are rings.
/// `factors`: not empty: accumulators are rescaled by a role of its own, to which columns go by this buffer.
MatrixRoleResult splitMatrixRole(plan::Role &computing, const Placement &placement, int64_t columns,
                                 int accumulatorStages, const std::string &factors);

/// Gives the plan the buffers in tensor memory, of which the block allocates a power of two of columns, and barriers.
void takeTensors(MatrixRoleResult &products, Placement &placement, plan::Plan &plan);

} // namespace tkc::planner
