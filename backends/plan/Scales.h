// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with block scales where a GPU has no instruction for them.
#pragma once

#include "backends/schedule/Schedule.h"
#include "backends/targets/Description.h"
#include "ir/TileIR.h"

namespace tkc::planner {

/// Leaves products with block scales to the planner of a GPU that has them all; else makes them products of bf16, if
/// the schedule allows it. False, with an error that says which GPUs can, if it does not.
bool settleScales(ir::Function &function, const arch::Description &arch, const Schedule &schedule,
                  DiagnosticEngine &diagnostics);

} // namespace tkc::planner
