// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels whose exponentials take as long as their products: how seldom accumulators are rescaled, and which
// exponentials multiply-adds compute.
#pragma once

#include "backends/schedule/Schedule.h"
#include "backends/targets/Description.h"
#include "ir/TileIR.h"

namespace tkc::planner {

/// Holds the online maxima of loops as the key `rescale_threshold` says; where accumulators are in tensor memory, by
/// default until they have grown 2^8-fold. False, with an error, if the key is set and there are none to hold.
bool settleRescaling(ir::Function &function, const arch::Description &arch, const Schedule &schedule,
                     DiagnosticEngine &diagnostics);

/// Marks exponentials of tiles with how many of 16 a polynomial gives, and of what degree: as the key `exp2_fma` says,
/// else where products run by themselves meanwhile, those of loops whose results are narrowed for a product. The
/// polynomial is as near as the special function unit, or, if nothing but narrow types sees its result, well within
/// their rounding. Returns the number that it chose; 0: none.
int shareExponentials(plan::Role &role, const arch::Description &arch, const Schedule &schedule);

} // namespace tkc::planner
