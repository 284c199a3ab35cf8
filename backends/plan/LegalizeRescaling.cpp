// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/LegalizeRescaling.h"

#include "ir/passes/DelayRescaling.h"
#include "support/Diagnostics.h"

namespace tkc::planner {
namespace {

/// What sums of bf16 products allow, and what f32 and f16 hold with ease.
constexpr int64_t usualThreshold = 8;

} // namespace

bool settleRescaling(ir::Function &function, const arch::Description &arch, const Schedule &schedule,
                     DiagnosticEngine &diagnostics) {
  const int64_t threshold = schedule.rescaleThreshold.value_or(arch.tensorMemoryColumns > 0 ? usualThreshold : 0);
  if (threshold == 0)
    return true;
  const int held = ir::delayRescaling(function, static_cast<int>(threshold));
  if (held > 0 || !schedule.rescaleThreshold)
    return true;
  diagnostics.report(Diag::schedule_impossible, SourceRange{function.loc, function.loc},
                     "`rescale_threshold`: no loop has an online maximum that its results do not depend on");
  return false;
}

} // namespace tkc::planner
