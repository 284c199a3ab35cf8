// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel whose plan asks for more than the GPU has is planned again with other values of what nobody set: keys of
// the schedule, then smaller tunes. The first plan that fits is taken and says what was changed; where none fits, the
// error says what does not, of which specialisation, and what would if the user set it.
#pragma once

#include "backends/plan/PlanModule.h"

namespace tkc::planner {

/// Plans the kernel as it stands; null after reporting why not.
using PlanOnce =
    std::function<std::unique_ptr<plan::Plan>(ElaboratedKernel &, const PlanOptions &, DiagnosticEngine &)>;

/// With `planOnce`, as often as it takes. `kernel` has a function that is spent afterwards.
std::unique_ptr<plan::Plan> planToFit(const Module &module, ElaboratedKernel &kernel, const PlanOptions &options,
                                      const PlanOnce &planOnce, DiagnosticEngine &diagnostics);

} // namespace tkc::planner
