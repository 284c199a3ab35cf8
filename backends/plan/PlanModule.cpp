// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/PlanModule.h"

#include "backends/plan/Planner.h"
#include "backends/plan/Scales.h"
#include "support/Diagnostics.h"

#include <algorithm>

namespace tkc::planner {
namespace {

std::unique_ptr<plan::Plan> planOne(ElaboratedKernel &kernel, const PlanOptions &options,
                                    DiagnosticEngine &diagnostics) {
  const size_t errorsBefore = diagnostics.numErrors();
  Schedule schedule = readSchedule(kernel.settings, diagnostics);
  const std::vector<std::string> &launched = options.launchedKernels;
  if (!schedule.earlyLaunch)
    schedule.earlyLaunch = std::find(launched.begin(), launched.end(), kernel.kernel->signature.name) != launched.end();
  if (diagnostics.numErrors() > errorsBefore || !settleScales(*kernel.function, *options.arch, schedule, diagnostics) ||
      (options.transform && !options.transform(*kernel.function)))
    return nullptr;
  std::unique_ptr<plan::Plan> plan = planKernel(*kernel.function, *options.arch, schedule, diagnostics);
  if (!plan || !options.verify)
    return plan;
  if (options.onPlanned)
    options.onPlanned(*plan);
  const std::vector<plan::Violation> violations = plan::verify(*plan, options.arch->budget());
  const auto bug = std::find_if(violations.begin(), violations.end(),
                                [](const plan::Violation &violation) { return !violation.overBudget; });
  if (bug != violations.end() && options.onUnsound)
    return options.onUnsound(*plan, *bug), nullptr;
  for (const plan::Violation &violation : violations)
    diagnostics.report(Diag::plan_refused, SourceRange{violation.loc, violation.loc}, violation.message);
  return violations.empty() ? std::move(plan) : nullptr;
}

} // namespace

std::optional<PlannedKernel> planSpecialization(const Module &module, const KernelInfo &kernel,
                                                const Specialization &specialization, const PlanOptions &options,
                                                DiagnosticEngine &diagnostics) {
  std::optional<ElaboratedKernel> elaborated =
      elaborateSpecialization(module, kernel, specialization, options, diagnostics);
  std::unique_ptr<plan::Plan> plan = elaborated ? planOne(*elaborated, options, diagnostics) : nullptr;
  if (!plan)
    return std::nullopt;
  return PlannedKernel{&kernel, specialization, std::move(plan)};
}

std::vector<PlannedKernel> planModule(const Module &module, const PlanOptions &options, DiagnosticEngine &diagnostics) {
  std::vector<PlannedKernel> planned;
  for (ElaboratedKernel &kernel : elaborateModule(module, options, diagnostics))
    if (std::unique_ptr<plan::Plan> plan = planOne(kernel, options, diagnostics))
      planned.push_back({kernel.kernel, std::move(kernel.specialization), std::move(plan)});
  return planned;
}

} // namespace tkc::planner
