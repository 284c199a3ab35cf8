// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/schedule/Schedule.h"
#include "backends/targets/Description.h"
#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// Puts `wait_for_previous` first in the prelude of a kernel that may be launched while the one before it runs: what a
/// schedule says so of, as programs do of their kernels, and what the copy engine loads tiles for, since copies of its
/// operands to workspace may stand before it.
void beginEarly(const arch::Description &arch, const Schedule &schedule, plan::Plan &plan);

} // namespace tkc::planner
