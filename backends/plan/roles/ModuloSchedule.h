// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The modulo schedule of a body: for every op a stage (0: with its own iteration, 1: one iteration later) and its place
// in the steady state.
//   s = q @ k.T; p = softmax(s); acc = acc * r + p @ v
//   ⇒ s(j) | acc += p(j-1) @ v(j-1) [stage 1] | p(j), acc *= r(j)
// Products are asynchronous, so each is issued as soon as its operands exist. A product that accumulates into a carried
// variable, from a left operand that this iteration's vector work makes out of another product, is issued an iteration
// late: under that vector work.
#pragma once

#include "backends/plan/placement/Placement.h"

#include <vector>

namespace tkc::planner {

struct ScheduledOp {
  const ir::Op *op;
  int stage = 0;
};

/// `overlap` 0 keeps every op in its own iteration. The Yield is left out. `notes` says which products are late, and
/// why others are not.
std::vector<ScheduledOp> orderBody(const std::vector<const ir::Op *> &ops, const ir::Op *loop,
                                   const Placement &placement, int overlap, std::vector<plan::Note> &notes);

} // namespace tkc::planner
