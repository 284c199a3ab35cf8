// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile IR to plan IR: where every value lives, when every operation runs, how many stages every ring has;
// synchronisation is derived from these. docs/planner.md.
#pragma once

#include "backends/schedule/Schedule.h"
#include "backends/targets/Description.h"
#include "ir/TileIR.h"
#include "ir/plan/PlanIR.h"

#include <memory>

namespace tkc::planner {

/// Plans one specialisation. Null after reporting why the schedule or the program cannot be done on `arch`.
/// The result has not been verified; callers run plan::verify.
std::unique_ptr<plan::Plan> planKernel(const ir::Function &function, const arch::Description &arch,
                                       const Schedule &schedule, DiagnosticEngine &diagnostics);

} // namespace tkc::planner
