// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands that threads store to shared memory are stored as early as their values are known:
//   for i { product p = x * a_staged; …; store_shared x_staged = x; product y += p * x_staged }
//   ⇒  for i { product p = x * a_staged; store_shared x_staged = x; …; product y += p * x_staged }
// There the store, and the barrier's wait for other warps, come under the product before. What stays the same throughout
// a loop is stored once, before the loop.
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// Before waits and barriers are derived: moves the stores of `role` to shared memory that products read.
void stageEarly(plan::Role &role);

} // namespace tkc::planner
