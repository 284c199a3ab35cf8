// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/PlanModule.h"

#include "backends/plan/Planner.h"
#include "support/Diagnostics.h"

#include <algorithm>

namespace tkc::planner {
namespace {

/// Splits settings into tunes of the kernel, which elaboration takes, and keys, which planning takes.
std::map<std::string, int64_t> takeTunes(const Signature &signature, ScheduleSettings &settings) {
  std::map<std::string, int64_t> tunes;
  for (const auto &[name, value] : signature.tunes)
    if (auto found = settings.find(name); found != settings.end()) {
      tunes[name] = static_cast<int64_t>(found->second.number);
      settings.erase(found);
    }
  return tunes;
}

std::unique_ptr<plan::Plan> planOne(const Module &module, const KernelInfo &kernel,
                                    const Specialization &specialization, const PlanOptions &options,
                                    DiagnosticEngine &diagnostics) {
  ScheduleSettings settings =
      findSchedule(kernel.schedules, options.arch->scheduleNames(), specialization, diagnostics);
  for (const auto &[key, value] : options.overrides)
    settings[key] = value;
  const std::map<std::string, int64_t> tunes = takeTunes(kernel.signature, settings);
  const Schedule schedule = readSchedule(settings, diagnostics);
  std::unique_ptr<ir::Function> function = elaborate(module, kernel, specialization, tunes, diagnostics);
  if (!function || diagnostics.hasErrors() || (options.transform && !options.transform(*function)))
    return nullptr;
  std::unique_ptr<plan::Plan> plan = planKernel(*function, *options.arch, schedule, diagnostics);
  if (!plan)
    return nullptr;
  const std::vector<plan::Violation> violations = plan::verify(*plan, options.arch->budget());
  for (const plan::Violation &violation : violations)
    diagnostics.report(Diag::plan_refused, SourceRange{violation.loc, violation.loc}, violation.message);
  return violations.empty() ? std::move(plan) : nullptr;
}

} // namespace

std::vector<PlannedKernel> planModule(const Module &module, const PlanOptions &options, DiagnosticEngine &diagnostics) {
  std::vector<PlannedKernel> planned;
  for (size_t i = 0; i < module.numMainKernels; ++i) {
    const KernelInfo &kernel = *module.kernels[i];
    const std::vector<std::string> &only = options.onlyKernels;
    if (!only.empty() && std::find(only.begin(), only.end(), kernel.signature.name) == only.end())
      continue;
    for (Specialization &specialization : specializations(kernel.signature, kernel.cases)) {
      std::unique_ptr<plan::Plan> plan = planOne(module, kernel, specialization, options, diagnostics);
      if (plan)
        planned.push_back({&kernel, std::move(specialization), std::move(plan)});
    }
  }
  return planned;
}

} // namespace tkc::planner
