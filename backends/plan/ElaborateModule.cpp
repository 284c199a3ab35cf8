// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which specialisations are compiled, and with which tunes and schedule keys.
#include "backends/plan/ElaborateModule.h"
#include "backends/plan/PlanModule.h"
#include "frontend/AST.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace tkc::planner {
namespace {

constexpr size_t mostUnsaid = 128; ///< specialisations of a kernel, beyond which a warning says what makes them

/// Splits settings into tunes of the kernel, which elaboration takes, and keys, which planning takes.
std::map<std::string, int64_t> takeTunes(const Signature &signature, ScheduleSettings &settings) {
  std::map<std::string, int64_t> tunes;
  for (const auto &[name, value] : signature.tunes)
    if (auto found = settings.find(name); found != settings.end()) {
      // What is no i32 becomes 0, which elaboration refuses as it does every tile size out of range.
      const double number = found->second.number;
      tunes[name] = std::fabs(number) < 2147483648.0 ? static_cast<int64_t>(number) : 0;
      settings.erase(found);
    }
  return tunes;
}

} // namespace

bool takeChoice(const Specialization &specialization, ScheduleSettings &overrides) {
  bool chosen = true;
  for (const auto &[name, type] : specialization.typeArgs)
    if (auto found = overrides.find(name); found != overrides.end()) {
      chosen &= found->second.name == spelling(type);
      overrides.erase(found);
    }
  for (const auto &[name, value] : specialization.constants)
    if (auto found = overrides.find(name); found != overrides.end()) {
      chosen &= found->second.name.empty() && found->second.number == static_cast<double>(value);
      overrides.erase(found);
    }
  return chosen;
}

namespace {

/// Kernels of imported files only where a program of this one launches them.
bool isWanted(const KernelInfo &kernel, bool isImported, const PlanOptions &options) {
  const std::vector<std::string> &names = isImported ? options.launchedKernels : options.onlyKernels;
  return (!isImported && names.empty()) || std::find(names.begin(), names.end(), kernel.signature.name) != names.end();
}

/// With each schedule that may serve a call, or with `overrides`, which choose no specialisation: then with the one
/// that serves every call, as they are meant for all.
std::vector<ElaboratedKernel> elaborateAll(const Module &module, const KernelInfo &kernel,
                                           const Specialization &specialization, const ScheduleSettings &overrides,
                                           const PlanOptions &options, DiagnosticEngine &diagnostics) {
  std::vector<ElaboratedKernel> result;
  std::set<std::string> variants;
  std::vector<ChosenSchedule> schedules =
      findSchedules(kernel.schedules, options.arch->scheduleNames(), specialization);
  if (!overrides.empty())
    schedules.erase(schedules.begin(), schedules.end() - 1);
  for (ChosenSchedule &schedule : schedules) {
    std::string variant = schedule.suffix();
    for (int i = 2; !variants.insert(variant).second; ++i)
      variant = fmt::format("{}_{}", schedule.suffix(), i);
    for (const auto &[key, value] : overrides)
      schedule.settings[key] = value;
    std::map<std::string, int64_t> tunes = takeTunes(kernel.signature, schedule.settings);
    if (options.forEveryCall)
      schedule.conditions.clear();
    if (options.forEveryCall || options.inOrder)
      schedule.cost = nullptr;
    auto function = elaborate(module, kernel, specialization, tunes, schedule.conditions, diagnostics);
    if (!function)
      return {};
    result.push_back(
        {&kernel, specialization, std::move(schedule), std::move(tunes), std::move(variant), std::move(function)});
  }
  return result;
}

/// What multiplies to these, as "4 types `T` × 3 of `D` × with or without `bias`".
std::string factorsOf(const std::vector<Specialization> &all) {
  std::vector<std::string> factors;
  const auto add = [&](std::string_view form, const std::string &name, auto valueIn) {
    std::set<int64_t> values;
    for (const Specialization &each : all)
      values.insert(valueIn(each));
    if (const size_t count = values.size(); count > 1)
      factors.push_back(fmt::vformat(form, fmt::make_format_args(name, count)));
  };
  for (size_t i = 0; i < all.front().typeArgs.size(); ++i)
    add("{1} types `{0}`", all.front().typeArgs[i].first,
        [i](const Specialization &of) { return static_cast<int64_t>(of.typeArgs[i].second); });
  for (size_t i = 0; i < all.front().constants.size(); ++i)
    add("{1} of `{0}`", all.front().constants[i].first,
        [i](const Specialization &of) { return of.constants[i].second; });
  std::set<std::string> optional;
  for (const Specialization &each : all)
    optional.insert(each.absent.begin(), each.absent.end());
  for (const std::string &name : optional)
    add("with or without `{0}`", name,
        [&](const Specialization &of) { return static_cast<int64_t>(of.absent.count(name)); });
  return fmt::format("{}", fmt::join(factors, " × "));
}

/// Those that `--set` leaves.
std::vector<Specialization> chosenOf(const KernelInfo &kernel, const PlanOptions &options) {
  std::vector<Specialization> all = specializations(kernel.signature, kernel.cases);
  std::erase_if(all, [&](const Specialization &specialization) {
    ScheduleSettings overrides = options.overrides;
    return !takeChoice(specialization, overrides);
  });
  return all;
}

} // namespace

std::vector<ElaboratedKernel> elaborateSpecialization(const Module &module, const KernelInfo &kernel,
                                                      const Specialization &specialization, const PlanOptions &options,
                                                      DiagnosticEngine &diagnostics) {
  return elaborateAll(module, kernel, specialization, options.overrides, options, diagnostics);
}

std::unique_ptr<ir::Function> elaborateWith(const Module &module, const ElaboratedKernel &kernel,
                                            const std::map<std::string, int64_t> &tunes,
                                            DiagnosticEngine &diagnostics) {
  return elaborate(module, *kernel.kernel, kernel.specialization, tunes, kernel.schedule.conditions, diagnostics);
}

std::vector<ElaboratedKernel> elaborateModule(const Module &module, const PlanOptions &options,
                                              DiagnosticEngine &diagnostics) {
  std::vector<ElaboratedKernel> result;
  for (size_t i = 0; i < module.kernels.size(); ++i) {
    const KernelInfo &kernel = *module.kernels[i];
    if (!isWanted(kernel, i >= module.numMainKernels, options))
      continue;
    const std::vector<Specialization> chosen = chosenOf(kernel, options);
    if (chosen.size() > mostUnsaid)
      diagnostics.report(Diag::many_specializations, {kernel.signature.loc, kernel.signature.loc},
                         kernel.signature.name, chosen.size(), factorsOf(chosen));
    for (const Specialization &specialization : chosen) {
      if (options.leavesOut && options.leavesOut(kernel, specialization))
        continue;
      ScheduleSettings overrides = options.overrides;
      takeChoice(specialization, overrides);
      for (ElaboratedKernel &elaborated : elaborateAll(module, kernel, specialization, overrides, options, diagnostics))
        result.push_back(std::move(elaborated));
    }
  }
  return result;
}

} // namespace tkc::planner
