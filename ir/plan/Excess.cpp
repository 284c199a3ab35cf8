// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/Excess.h"

#include "ir/plan/LaunchRegisters.h"

#include <algorithm>

namespace tkc::plan {
namespace {

double beyond(int64_t asked, int64_t has) {
  return asked <= has ? 0 : static_cast<double>(asked - has) / static_cast<double>(std::max<int64_t>(has, 1));
}

} // namespace

double excess(const Plan &plan, const Budget &budget) {
  const int atLaunch = std::min(budget.maxRegisters, launchRegisters(plan, budget.registersPerBlock));
  double sum = beyond(plan.sharedBytes, budget.sharedBytes) + beyond(plan.tensorColumns, budget.tensorColumns) +
               beyond(plan.threads, budget.maxThreads) + beyond(widestProduct(plan).registers, atLaunch);
  int64_t claimed = 0;
  for (const Role &role : plan.roles) {
    const RegisterUse registers = registerUse(plan, role, budget);
    sum += beyond(registers.alive, registers.has);
    claimed += int64_t{role.registers} * role.totalWarps() * role.lanes;
  }
  return sum + beyond(claimed, budget.registersPerBlock);
}

} // namespace tkc::plan
