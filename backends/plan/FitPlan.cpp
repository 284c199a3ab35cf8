// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/FitPlan.h"

#include "backends/plan/Attempts.h"
#include "backends/plan/TuneDependence.h"
#include "backends/schedule/Schedule.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <set>

namespace tkc::planner {
namespace {

constexpr size_t mostAttempts = 28;
constexpr size_t mostCombined = 40; ///< attempts that put together what others helped
constexpr double everything =
    std::numeric_limits<double>::infinity(); ///< what an attempt lacks of which there is no plan
constexpr double least = 1e-9;               ///< that is lacking where something is
constexpr size_t mostTold = 8;               ///< specialisations that an error lists
constexpr size_t mostReasons = 4;            ///< of one kernel, for which other keys and tunes are tried

/// Whether other tiles or keys may help: nothing else is wrong.
bool mayFit(const DiagnosticEngine &diagnostics) {
  const std::vector<Diagnostic> &all = diagnostics.all();
  return !all.empty() && std::all_of(all.begin(), all.end(), [](const Diagnostic &diagnostic) {
    return diagnostic.id == Diag::plan_refused || diagnostic.id == Diag::schedule_impossible ||
           diagnostic.id == Diag::not_on_this_target;
  });
}

/// "T = bf16, D = 128, no `bias`".
std::string describe(const Specialization &specialization) {
  std::string text;
  const auto add = [&](const std::string &part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto &[name, type] : specialization.typeArgs)
    add(fmt::format("{} = {}", name, spelling(type)));
  for (const auto &[name, value] : specialization.constants)
    add(fmt::format("{} = {}", name,
                    specialization.bools.count(name) ? (value ? "true" : "false") : std::to_string(value)));
  for (const std::string &name : specialization.absent)
    add(fmt::format("no `{}`", name));
  return text;
}

/// ", for T = bf16; for T = f16".
std::string list(const std::vector<std::string> &specializations) {
  const size_t told = std::min(specializations.size(), mostTold);
  std::string text =
      fmt::format(", for {}", fmt::join(specializations.begin(), specializations.begin() + told, "; for "));
  if (told < specializations.size())
    text += fmt::format("; and for {} more specialisations", specializations.size() - told);
  return text;
}

class Fitting {
public:
  /// `lacks`: what the plan does as it is.
  Fitting(const Module &module, ElaboratedKernel &kernel, const PlanOptions &options, const PlanOnce &planOnce,
          const SourceManager &sources, double lacks)
      : module(module), kernel(kernel), options(options), planOnce(planOnce), sources(sources), lacks(lacks) {
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
    if (std::unique_ptr<plan::Plan> plan = changeFrom({}, lacks, fixed, reason))
      return plan;
    if (lacks == everything) // memory is not what is short
      return nullptr;
    const std::vector<Attempt> savings = memorySavings(*kernel.function, *options.arch, fixed);
    const std::pair<Attempt, double> asItIs{{}, lacks}, nearest = closest;
    for (const auto &[from, lacking] : {asItIs, nearest})
      if (std::unique_ptr<plan::Plan> plan = saveMemory(savings, from, lacking, fixed, reason))
        return plan;
    return nullptr;
  }

  /// What the user could change, as the end of an error.
  std::string advice() {
    const auto saying = [](const Attempt &attempt) { return fmt::format("; with {} it fits", spelling(attempt)); };
    for (const Attempt &attempt : some(changesOfUsers()))
      if (lacksOf(attempt, options) == 0)
        return saying(attempt);
    if (const std::optional<Attempt> combined =
            set.empty() ? std::nullopt : combine(tunes, meant, withoutKeys(), options, {}, lacks))
      return saying(*combined);
    // Nobody gets this plan: one that is unsound says no more than that it is none.
    PlanOptions quiet = options;
    quiet.onUnsound = nullptr;
    const Tunes sizes = tunesAndWrittenSizes();
    for (const Attempt &attempt : some(changesOfWrittenSizes(sizes)))
      if (lacksOf(attempt, quiet) == 0)
        return saying(attempt);
    if (const std::optional<Attempt> combined =
            sizes.size() == tunes.size() ? std::nullopt : combine(sizes, meant, {}, quiet, {}, lacks))
      return saying(*combined);
    std::string text = tried == 0 ? "" : fmt::format("; none of {} other schedules that were tried fits", tried);
    for (const auto &[name, why] : whyMeant)
      text += fmt::format("; `{}` is left as it is, as results depend on it: {}", name, why);
    return text;
  }

private:
  using Tunes = std::vector<std::pair<std::string, int64_t>>;

  /// With `from`, of which the plan lacks `lacking`, and changes of what is not `fixed`.
  std::unique_ptr<plan::Plan> changeFrom(const Attempt &from, double lacking, std::set<std::string> fixed,
                                         const std::string &reason) {
    for (const Setting &setting : from)
      fixed.insert(setting.name);
    for (Attempt &attempt : some(attempts(*kernel.function, *options.arch, tunes, fixed))) {
      attempt.insert(attempt.begin(), from.begin(), from.end());
      if (lacksOf(attempt, options) == 0)
        return taken(attempt, reason);
    }
    if (const std::optional<Attempt> combined = combine(tunes, fixed, {}, options, from, lacking))
      return taken(*combined, reason);
    return nullptr;
  }

  /// With `from`, of which the plan lacks `lacking`, and one of `savings`.
  std::unique_ptr<plan::Plan> saveMemory(const std::vector<Attempt> &savings, const Attempt &from, double lacking,
                                         const std::set<std::string> &fixed, const std::string &reason) {
    for (const Attempt &saving : savings) {
      Attempt attempt = saving;
      attempt.insert(attempt.end(), from.begin(), from.end());
      const double after = lacksOf(attempt, options);
      if (after == 0)
        return taken(attempt, reason);
      if (after < lacking)
        if (std::unique_ptr<plan::Plan> plan = changeFrom(attempt, after, fixed, reason))
          return plan;
      lacking = std::min(lacking, after);
    }
    return nullptr;
  }

  static std::vector<Attempt> some(std::vector<Attempt> all) {
    if (all.size() > mostAttempts)
      all.resize(mostAttempts);
    return all;
  }

  /// Changes that fit together with `from`, of which the plan lacks `lacking`, where none does by itself: `others`, and
  /// those of `tunes` and of keys that are not `fixed`.
  std::optional<Attempt> combine(const Tunes &tunes, const std::set<std::string> &fixed,
                                 const std::vector<Setting> &others, const PlanOptions &options, const Attempt &from,
                                 double lacking) {
    const size_t most = tried + mostCombined;
    const auto next = [&](const Attempt &now) {
      std::vector<Setting> changes = nextChanges(*kernel.function, *options.arch, tunes, fixed, now);
      std::copy_if(others.begin(), others.end(), std::back_inserter(changes),
                   [&](const Setting &it) { return std::find(now.begin(), now.end(), it) == now.end(); });
      return changes;
    };
    const auto lacksAfter = [&](const Attempt &attempt) {
      return tried < most ? lacksOf(attempt, options) : everything;
    };
    return combineAttempts(next, lacksAfter, from, lacking);
  }

  /// One for each key that the user set: as if nobody had.
  std::vector<Setting> withoutKeys() const {
    std::vector<Setting> result;
    for (const auto &[name, value] : kernel.schedule.settings)
      result.push_back({name, std::nullopt});
    return result;
  }

  std::vector<Attempt> changesOfUsers() const {
    std::vector<Attempt> result;
    for (Setting &setting : withoutKeys())
      result.push_back({std::move(setting)});
    for (Attempt &attempt : attempts(*kernel.function, *options.arch, tunes, meant))
      if (std::any_of(attempt.begin(), attempt.end(), [&](const Setting &it) { return isLeftAlone(it); }))
        result.push_back(std::move(attempt));
    return result;
  }

  /// These among others.
  Tunes tunesAndWrittenSizes() const {
    Tunes all = tunes;
    for (const int64_t size : writtenSizes())
      all.emplace_back(std::to_string(size), size);
    return all;
  }

  /// Such as smaller tiles where their sizes are written as numbers.
  std::vector<Attempt> changesOfWrittenSizes(const Tunes &sizes) const {
    std::vector<Attempt> result;
    for (Attempt &attempt : attempts(*kernel.function, *options.arch, sizes, meant))
      if (std::any_of(attempt.begin(), attempt.end(), [](const Setting &it) { return it.isWrittenSize(); }))
        result.push_back(std::move(attempt));
    return result;
  }

  /// Those that can be smaller, and do not show in results.
  std::set<int64_t> writtenSizes() const {
    std::set<int64_t> sizes, result;
    ir::walk(asWritten->body, [&](const ir::Op &op) { sizes.insert(op.tileSize); });
    for (const int64_t size : sizes) {
      std::map<std::string, int64_t> changes = kernel.tunes;
      changes[std::to_string(size)] = size / 2;
      DiagnosticEngine silent(sources);
      const std::unique_ptr<ir::Function> changed = size > 1 ? elaborateWith(module, kernel, changes, silent) : nullptr;
      if (changed && ir::print(*changed) != ir::print(*asWritten) &&
          whyDependent(*asWritten, *changed, sources).empty())
        result.insert(size);
    }
    return result;
  }

  /// By `run`.
  bool isLeftAlone(const Setting &setting) const {
    return set.count(setting.name) != 0 || (setting.isTune && hasKeys());
  }

  /// By how much the plan with these changes asks for more than there is. 0 where it fits: then it is `found`.
  double lacksOf(const Attempt &attempt, const PlanOptions &options) {
    const std::string name = spelling(attempt);
    if (const auto known = lacked.find(name); known != lacked.end())
      return known->second;
    std::optional<double> asked;
    found = tryOut(attempt, options, asked);
    // What the excess does not count may be short as well.
    const double result = found ? 0 : asked ? std::max(*asked, least) : everything;
    lacked.emplace(name, result);
    if (result < closest.second)
      closest = {attempt, result};
    return result;
  }

  /// Null also where the kernel does not allow these tunes, or means something else with them (`if BM > 32`). An
  /// unsound plan is told of as any other is.
  std::unique_ptr<plan::Plan> tryOut(const Attempt &attempt, const PlanOptions &options, std::optional<double> &asked) {
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
    return planOnce(changed, options, silent, asked);
  }

  std::unique_ptr<plan::Plan> taken(const Attempt &attempt, const std::string &reason) {
    explain(attempt, reason, *found);
    return std::move(found);
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
  const double lacks;
  Tunes tunes;                                 ///< as they were
  std::set<std::string> set;                   ///< by a schedule or `--set`
  std::map<std::string, std::string> whyMeant; ///< of tunes that results depend on
  std::set<std::string> meant;                 ///< these
  std::unique_ptr<ir::Function> asWritten;
  size_t tried = 0;
  std::map<std::string, double> lacked;               ///< by the spelling of an attempt
  std::pair<Attempt, double> closest{{}, everything}; ///< of those tried, which lacks the least
  std::unique_ptr<plan::Plan> found;
};

} // namespace

bool Refusals::join(const ElaboratedKernel &kernel, const std::vector<Diagnostic> &said) {
  const auto same = [](const Diagnostic &a, const Diagnostic &b) {
    return a.id == b.id && a.loc == b.loc && a.message == b.message;
  };
  for (Refusal &refusal : all)
    if (refusal.kernel == kernel.kernel && !refusal.specializations.empty() &&
        std::equal(said.begin(), said.end(), refusal.said.begin(), refusal.said.end(), same)) {
      refusal.specializations.push_back(describe(kernel.specialization));
      return true;
    }
  return false;
}

void Refusals::add(const ElaboratedKernel &kernel, std::vector<Diagnostic> said, std::string advice) {
  all.push_back({kernel.kernel, std::move(said), std::move(advice), {describe(kernel.specialization)}});
}

void Refusals::addAsSaid(const ElaboratedKernel &kernel, std::vector<Diagnostic> said) {
  all.push_back({kernel.kernel, std::move(said), "", {}});
}

bool Refusals::areEnough(const KernelInfo &kernel) const {
  return std::count_if(all.begin(), all.end(), [&](const Refusal &it) { return it.kernel == &kernel; }) >=
         static_cast<ptrdiff_t>(mostReasons);
}

void Refusals::report(DiagnosticEngine &diagnostics) const {
  for (const Refusal &refusal : all)
    for (size_t i = 0; i < refusal.said.size(); ++i) {
      Diagnostic diagnostic = refusal.said[i];
      if (i == 0 && !refusal.specializations.empty() && !refusal.specializations.front().empty())
        diagnostic.message += list(refusal.specializations);
      if (i == 0)
        diagnostic.message += refusal.advice;
      diagnostics.append(std::move(diagnostic));
    }
}

std::unique_ptr<plan::Plan> planToFit(const Module &module, ElaboratedKernel &kernel, const PlanOptions &options,
                                      const PlanOnce &planOnce, const SourceManager &sources, Refusals &refusals) {
  DiagnosticEngine first(sources);
  std::optional<double> lacks;
  std::unique_ptr<plan::Plan> plan = planOnce(kernel, options, first, lacks);
  if (plan)
    return plan;
  const std::vector<Diagnostic> &said = first.all();
  if (!options.fit || !options.verify || !mayFit(first)) {
    refusals.addAsSaid(kernel, said);
    return nullptr;
  }
  if (refusals.join(kernel, said))
    return nullptr;
  if (refusals.areEnough(*kernel.kernel)) {
    refusals.add(kernel, said, "; nothing else was tried");
    return nullptr;
  }
  Fitting fitting(module, kernel, options, planOnce, sources, lacks.value_or(everything));
  if (said.front().id != Diag::schedule_impossible || !fitting.hasKeys())
    plan = fitting.run(said.front().message);
  if (!plan)
    refusals.add(kernel, said, fitting.advice());
  return plan;
}

} // namespace tkc::planner
