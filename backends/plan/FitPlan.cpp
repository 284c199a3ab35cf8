// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/FitPlan.h"

#include "backends/plan/Attempts.h"
#include "backends/plan/Schedule.h"
#include "backends/plan/TuneDependence.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tkc::planner {
namespace {

constexpr size_t mostAttempts = 28;

/// Whether other tiles or keys may help: nothing else is wrong.
bool mayFit(const DiagnosticEngine &diagnostics) {
  const std::vector<Diagnostic> &all = diagnostics.all();
  return !all.empty() && std::all_of(all.begin(), all.end(), [](const Diagnostic &diagnostic) {
    return diagnostic.id == Diag::plan_refused || diagnostic.id == Diag::schedule_impossible ||
           diagnostic.id == Diag::not_on_this_target;
  });
}

/// ", for T = bf16, D = 128, no bias".
std::string describe(const Specialization &specialization) {
  std::string text;
  const auto add = [&](const std::string &part) { text += (text.empty() ? ", for " : ", ") + part; };
  for (const auto &[name, type] : specialization.typeArgs)
    add(fmt::format("{} = {}", name, spelling(type)));
  for (const auto &[name, value] : specialization.constants)
    add(fmt::format("{} = {}", name,
                    specialization.bools.count(name) ? (value ? "true" : "false") : std::to_string(value)));
  for (const std::string &name : specialization.absent)
    add(fmt::format("no `{}`", name));
  return text;
}

class Fitting {
public:
  Fitting(const Module &module, ElaboratedKernel &kernel, const PlanOptions &options, const PlanOnce &planOnce,
          const SourceManager &sources)
      : module(module), kernel(kernel), options(options), planOnce(planOnce), sources(sources) {
    for (const auto &[name, value] : kernel.kernel->signature.tunes)
      if (const std::optional<int64_t> now = kernel.function->findConstant(name))
        tunes.emplace_back(name, *now);
    for (const auto &[name, value] : kernel.tunes)
      set.insert(name);
    for (const auto &[name, value] : kernel.schedule.settings)
      set.insert(name);
    whyMeant = dependentTunes(module, kernel, sources);
    for (const auto &[name, why] : whyMeant)
      meant.insert(name);
    DiagnosticEngine silent(sources);
    asWritten = elaborateWith(module, kernel, kernel.tunes, silent);
  }

  /// Such as shape the plan; types computed in wider ones (`allow_upcast`) do not.
  bool hasKeys() const {
    return std::any_of(keys().begin(), keys().end(), [&](const Key &key) {
      return key.shapesPlan && kernel.schedule.settings.count(std::string(key.name)) != 0;
    });
  }

  /// With changes of what nobody set. Who sets keys wants a plan with them, not other tiles.
  std::unique_ptr<plan::Plan> run(const std::string &reason) {
    std::set<std::string> fixed = set;
    fixed.insert(meant.begin(), meant.end());
    if (hasKeys())
      for (const auto &[name, value] : tunes)
        fixed.insert(name);
    for (const Attempt &attempt : some(attempts(*kernel.function, *options.arch, tunes, fixed)))
      if (std::unique_ptr<plan::Plan> plan = tryOut(attempt)) {
        explain(attempt, reason, *plan);
        return plan;
      }
    return nullptr;
  }

  /// What the user could change, as the end of an error.
  std::string advice() {
    for (const Attempt &attempt : some(changesOfUsers()))
      if (tryOut(attempt))
        return fmt::format("; with {} it fits", spelling(attempt));
    std::string text = tried == 0 ? "" : fmt::format("; none of {} other schedules that were tried fits", tried);
    for (const auto &[name, why] : whyMeant)
      text += fmt::format("; `{}` is left as it is, as results depend on it: {}", name, why);
    return text;
  }

private:
  static std::vector<Attempt> some(std::vector<Attempt> all) {
    if (all.size() > mostAttempts)
      all.resize(mostAttempts);
    return all;
  }

  std::vector<Attempt> changesOfUsers() const {
    std::vector<Attempt> result;
    for (const auto &[name, value] : kernel.schedule.settings)
      result.push_back({Setting{name, std::nullopt}});
    for (Attempt &attempt : attempts(*kernel.function, *options.arch, tunes, meant))
      if (std::any_of(attempt.begin(), attempt.end(), [&](const Setting &it) { return isLeftAlone(it); }))
        result.push_back(std::move(attempt));
    return result;
  }

  /// By `run`.
  bool isLeftAlone(const Setting &setting) const {
    return set.count(setting.name) != 0 || (setting.isTune && hasKeys());
  }

  /// Null also where the kernel does not allow these tunes, or means something else with them (`if BM > 32`). An
  /// unsound plan is told of as any other is.
  std::unique_ptr<plan::Plan> tryOut(const Attempt &attempt) {
    ++tried;
    ElaboratedKernel changed{kernel.kernel, kernel.specialization, kernel.schedule, kernel.tunes, kernel.variant, {}};
    for (const Setting &setting : attempt)
      if (setting.isTune)
        changed.tunes[setting.name] = *setting.value;
      else if (setting.value)
        changed.schedule.settings[setting.name].number = static_cast<double>(*setting.value);
      else
        changed.schedule.settings.erase(setting.name);
    DiagnosticEngine silent(sources);
    changed.function = elaborateWith(module, changed, changed.tunes, silent);
    if (!changed.function || (asWritten && !whyDependent(*asWritten, *changed.function, sources).empty()))
      return nullptr;
    return planOnce(changed, options, silent);
  }

  void explain(const Attempt &attempt, const std::string &reason, plan::Plan &plan) const {
    std::string changes, why;
    for (const Setting &setting : attempt) {
      const auto before =
          std::find_if(tunes.begin(), tunes.end(), [&](const auto &tune) { return tune.first == setting.name; });
      const std::string change = fmt::format("{}{} = {}", changes.empty() ? "" : ", ", setting.name, *setting.value);
      changes += change;
      why += change;
      if (setting.isTune && before != tunes.end())
        why += fmt::format(" instead of {}", before->second);
    }
    plan.notes.push_back(
        {plan::Note::Fit, fmt::format("{}, found by {} attempts: without, {}", why, tried, reason), {}});
    plan.decisions.emplace_back("to fit", std::move(changes));
  }

  const Module &module;
  ElaboratedKernel &kernel;
  const PlanOptions &options;
  const PlanOnce &planOnce;
  const SourceManager &sources;
  std::vector<std::pair<std::string, int64_t>> tunes; ///< as they were
  std::set<std::string> set;                          ///< by a schedule or `--set`
  std::map<std::string, std::string> whyMeant;        ///< of tunes that results depend on
  std::set<std::string> meant;                        ///< these
  std::unique_ptr<ir::Function> asWritten;
  size_t tried = 0;
};

} // namespace

std::unique_ptr<plan::Plan> planToFit(const Module &module, ElaboratedKernel &kernel, const PlanOptions &options,
                                      const PlanOnce &planOnce, DiagnosticEngine &diagnostics) {
  DiagnosticEngine first(diagnostics.sourceManager());
  std::unique_ptr<plan::Plan> plan = planOnce(kernel, options, first);
  std::vector<Diagnostic> said = first.all();
  if (!plan && options.fit && options.verify && mayFit(first)) {
    Fitting fitting(module, kernel, options, planOnce, diagnostics.sourceManager());
    if (said.front().id != Diag::schedule_impossible || !fitting.hasKeys())
      plan = fitting.run(said.front().message);
    if (plan)
      return plan;
    said.front().message += describe(kernel.specialization) + fitting.advice();
  }
  for (Diagnostic &diagnostic : said)
    diagnostics.append(std::move(diagnostic));
  return plan;
}

} // namespace tkc::planner
