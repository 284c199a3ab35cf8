// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far a plan is from fitting, as one number, so that a search can tell which change brings it nearer.
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::plan {

/// Of shared memory, tensor memory, threads, the registers of each role and those of all: what is asked for beyond what
/// there is, as a share of that, in all. 0 where each suffices.
double excess(const Plan &plan, const Budget &budget);

struct RegisterUse {
  int64_t alive = 0; ///< of the tiles that are alive together, where they are the most
  int has = 0;       ///< a thread of the role
};
RegisterUse registerUse(const Plan &plan, const Role &role, const Budget &budget);

} // namespace tkc::plan
