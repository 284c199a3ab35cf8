// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The role that loads asks for its first stages before the block meets (ir/plan/HeadStart.h).
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// Gives the first role that can have one a head start of half a ring.
void giveHeadStart(plan::Plan &plan);

} // namespace tkc::planner
