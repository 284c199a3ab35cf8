// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Advice.h"

#include "backends/schedule/Schedule.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <set>

namespace tkc::harness {
namespace {

/// Whether the key is about speed alone, and the model knows its price.
bool isAdvised(const planner::Key &key) { return key.isTuned && key.name != "rescale_threshold"; }

/// What is near a tile's size: half, twice, and what a step of 64 or 32 gives.
std::vector<int64_t> nearTune(int64_t value) {
  std::set<int64_t> near;
  for (int64_t each : {value / 2, value * 2, value - 64, value + 64, value - 32, value + 32})
    if (each >= 8 && each <= 1024 && each != value && each % 8 == 0)
      near.insert(each);
  return {near.begin(), near.end()};
}

/// All values of a key that has few, else powers of two.
std::vector<int64_t> valuesOf(const planner::Key &key) {
  std::vector<int64_t> values;
  if (key.type == "bool")
    return {0, 1};
  if (key.type != "int")
    return {};
  const int64_t most = std::min<int64_t>(key.hi, 16);
  for (int64_t value = key.lo; value <= most; value = value < 8 ? value + 1 : value * 2)
    values.push_back(value);
  return values;
}

class Adviser {
public:
  Adviser(const Module &module, const PredictedStep &step, const planner::PlanOptions &plans,
          const std::map<std::string, int64_t> &tunes, const SourceManager &sources)
      : module(module), step(step), base(optionsFor(*step.kernel, plans, tunes)), sources(sources) {
    call.symbols = step.call.dims;
    call.alignments = step.call.alignments;
    call.multiprocessors = base.arch->multiprocessors;
    call.scalars.insert(step.call.scalars.begin(), step.call.scalars.end());
  }

  std::vector<Advice> run(size_t most, double least) {
    const std::string now = plan::print(*step.plan);
    std::set<std::string> seen = {now};
    std::vector<Advice> found;
    for (const auto &[key, value] : candidates()) {
      const std::unique_ptr<plan::Plan> plan = planWith(key, value, false);
      if (!plan || !seen.insert(plan::print(*plan)).second)
        continue;
      const double seconds = cost::estimate(*plan, *base.arch, step.call).seconds;
      if (seconds < step.estimate.seconds * (1 - least))
        found.push_back({key, value, seconds});
    }
    std::sort(found.begin(), found.end(), [](const Advice &a, const Advice &b) { return a.seconds < b.seconds; });
    std::vector<Advice> accepted;
    for (const Advice &each : found)
      if (accepted.size() < most && planWith(each.key, each.value, true))
        accepted.push_back(each);
    return accepted;
  }

private:
  std::vector<std::pair<std::string, int64_t>> candidates() const {
    std::vector<std::pair<std::string, int64_t>> result;
    for (const auto &[name, standard] : step.kernel->signature.tunes) {
      if (base.overrides.count(name))
        continue;
      for (const auto &[constant, value] : step.plan->constants)
        if (constant == name)
          for (int64_t near : nearTune(value))
            result.emplace_back(name, near);
    }
    for (const planner::Key &key : planner::keys())
      if (isAdvised(key) && !base.overrides.count(std::string(key.name)))
        for (int64_t value : valuesOf(key))
          result.emplace_back(std::string(key.name), value);
    return result;
  }

  /// Null where the schedule cannot be planned, or its plan is refused.
  std::unique_ptr<plan::Plan> planWith(const std::string &key, int64_t value, bool verify) const {
    planner::PlanOptions options = base;
    options.overrides[key].number = static_cast<double>(value);
    options.verify = verify;
    options.fit = false;
    bool isRefused = false;
    options.onUnsound = [&](const plan::Plan &, const plan::Violation &) { isRefused = true; };
    DiagnosticEngine silent(sources);
    std::vector<planner::PlannedKernel> planned =
        planner::planSpecialization(module, *step.kernel, step.specialization, options, silent);
    const std::optional<size_t> taken = takenOf(planned, step.specialization, call, step.call);
    return !taken || isRefused || silent.hasErrors() ? nullptr : std::move(planned[*taken].plan);
  }

  const Module &module;
  const PredictedStep &step;
  const planner::PlanOptions base;
  const SourceManager &sources;
  CallArguments call;
};

} // namespace

std::vector<Advice> adviseOn(const Module &module, const PredictedStep &step, const planner::PlanOptions &plans,
                             const std::map<std::string, int64_t> &tunes, const SourceManager &sources, size_t most,
                             double least) {
  if (!step.plan || !step.kernel)
    return {};
  return Adviser(module, step, plans, tunes, sources).run(most, least);
}

} // namespace tkc::harness
