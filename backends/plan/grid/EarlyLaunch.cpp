// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/EarlyLaunch.h"

#include <algorithm>

namespace tkc::planner {
namespace {

bool loadsTilesByEngine(const plan::Plan &plan) {
  const auto loads = [&](const plan::Stmt &stmt) {
    return stmt.kind == plan::StmtKind::CopyIn && !stmt.map.empty() && plan.findBuffer(stmt.ref.buffer)->rows > 1;
  };
  return std::any_of(plan.roles.begin(), plan.roles.end(),
                     [&](const plan::Role &role) { return plan::any(role.body, loads); });
}

} // namespace

void beginEarly(const arch::Description &arch, const Schedule &schedule, plan::Plan &plan) {
  if (arch.hasDependentLaunch && schedule.earlyLaunch.value_or(loadsTilesByEngine(plan)))
    plan.prelude.insert(plan.prelude.begin(), plan::Stmt(plan::WaitForPrevious(), SourceLoc()));
}

} // namespace tkc::planner
