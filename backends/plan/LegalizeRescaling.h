// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How seldom accumulators are rescaled by an online maximum.
#pragma once

#include "backends/schedule/Schedule.h"
#include "backends/targets/Description.h"
#include "ir/TileIR.h"

namespace tkc::planner {

/// Holds the online maxima of loops as the key `rescale_threshold` says; where accumulators are in tensor memory, by
/// default until they have grown 2^8-fold. False, with an error, if the key is set and there are none to hold.
bool settleRescaling(ir::Function &function, const arch::Description &arch, const Schedule &schedule,
                     DiagnosticEngine &diagnostics);

} // namespace tkc::planner
