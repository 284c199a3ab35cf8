// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans with one thing wrong, to see whether the verifier finds it.
#pragma once

#include "ir/plan/PlanIR.h"

#include <functional>

namespace tkc {

struct Mutant {
  plan::Plan plan;
  std::string change;     ///< "without `wait ab.full[read]` of `consumer`"
  SourceLoc loc;          ///< of the statement changed
  std::string ifHarmless; ///< why it does no harm, if the verifier lets it pass; empty: that would be a fault
};

/// Every mutant of a sound plan: each synchronising statement dropped, each phase flipped, each wait for groups one
/// group weaker, arrivals for earlier tiles later, each ring one stage shallower in one of its parts, and in all of
/// them.
std::vector<Mutant> mutantsOf(const plan::Plan &plan);

/// Hands `visit` each plan with one operand of another size, type, layout, division or name: variables, what statements
/// read and write, parts and orientations of stages, indices of views, buffers. Every `step`-th of them.
void forEachOperandMutant(const plan::Plan &plan, size_t step, const std::function<void(const Mutant &)> &visit);

} // namespace tkc
