// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels whose exponentials take as long as their products: which exponentials multiply-adds compute.
#pragma once

#include "backends/schedule/Schedule.h"
#include "backends/targets/Description.h"
#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// Marks exponentials of tiles with how many of 16 a polynomial gives, and of what degree: as the key `exp2_fma` says,
/// else where products run by themselves meanwhile, those of loops whose results are narrowed for a product. The
/// polynomial is as near as the special function unit, or, if nothing but narrow types sees its result, well within
/// their rounding. Returns the number that it chose; 0: none.
int chooseExp2Polynomials(plan::Role &role, const arch::Description &arch, const Schedule &schedule);

} // namespace tkc::planner
