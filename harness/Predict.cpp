// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Predict.h"

#include "backends/schedule/Schedule.h"
#include "frontend/Program.h"
#include "harness/Operations.h"
#include "harness/Programs.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::harness {
namespace {

/// Seconds from the end of a launch to the first instruction of the next one on its stream, and where it may begin
/// early, of which most is hidden.
constexpr double nextLaunch = 1.0e-6, earlyLaunch = 0.3e-6;

class Predictor {
public:
  Predictor(const Module &module, const PreparedCase &prepared, const planner::PlanOptions &plans,
            const PredictOptions &options, DiagnosticEngine &diagnostics)
      : module(module), prepared(prepared), plans(plans), options(options), diagnostics(diagnostics) {}

  bool kernel(const KernelInfo &info, const Specialization &specialization, const CallArguments &call,
              const cost::CallShape &shape) {
    planner::PlanOptions own = optionsFor(info, plans, prepared.tunes);
    std::vector<planner::PlannedKernel> planned =
        planner::planSpecialization(module, info, specialization, own, diagnostics);
    const std::optional<size_t> taken = takenOf(planned, specialization, withoutTensors(call), shape);
    if (!taken)
      return false;
    const bool isFirst = result.steps.empty();
    PredictedStep step;
    step.name = info.signature.name;
    step.plan = std::move(planned[*taken].plan);
    step.call = shape;
    step.kernel = &info;
    step.specialization = specialization;
    step.estimate =
        cost::estimate(*step.plan, *plans.arch, shape, {isFirst, options.dirtyCache, isFirst, options.timeline});
    if (!isFirst)
      step.estimate.seconds += plans.arch->hasDependentLaunch ? earlyLaunch : nextLaunch;
    if (options.counts)
      count(info, specialization, own, call, step);
    result.seconds += step.estimate.seconds;
    result.steps.push_back(std::move(step));
    return true;
  }

  bool program(const ProgramInfo &info) {
    std::unique_ptr<ProgramPlan> plan = planProgram(module, info, prepared.specialization, diagnostics);
    if (!plan)
      return false;
    std::vector<std::string> launched;
    for (const LaunchStep *launch : launchesOf(*plan))
      launched.push_back(launch->kernel->signature.name);
    plans.launchedKernels = launched;
    for (const ProgramStep &step : plan->steps) {
      if (const auto *fill = std::get_if<FillStep>(&step)) {
        addFill(*fill);
        continue;
      }
      const auto &launch = std::get<LaunchStep>(step);
      const CallArguments call = callOf(launch, prepared.arguments);
      if (!kernel(*launch.kernel, launch.specialization, call, shapeOf(call)))
        return false;
    }
    return true;
  }

  Prediction result;

private:
  /// What conditions of schedules ask of a call on this GPU.
  CallArguments withoutTensors(const CallArguments &call) const {
    CallArguments asked;
    asked.scalars = call.scalars;
    asked.symbols = call.symbols;
    asked.alignments = call.alignments;
    asked.multiprocessors = plans.arch->multiprocessors;
    return asked;
  }

  void addFill(const FillStep &fill) {
    const std::map<std::string, int64_t> &symbols = prepared.arguments.symbols;
    double bytes = bitWidth(fill.view.elem) / 8.0;
    for (const ir::DimExpr &dim : fill.view.dims)
      bytes *= static_cast<double>(ir::evaluate(dim, [&](const std::string &name) -> std::optional<int64_t> {
                                     if (auto found = symbols.find(name); found != symbols.end())
                                       return found->second;
                                     auto scalar = prepared.arguments.scalars.find(name);
                                     return scalar == prepared.arguments.scalars.end()
                                                ? std::nullopt
                                                : std::optional(scalar->second.toInteger());
                                   }).value_or(0));
    PredictedStep step;
    step.name = fmt::format("fill of {}", fill.view.tensor);
    const double rate = plans.arch->bandwidthGBs * 1e9 * plans.arch->rates.memoryShare;
    step.estimate.seconds = bytes / rate + (result.steps.empty() ? plans.arch->rates.launchNs * 1e-9 : nextLaunch);
    step.estimate.memoryBytes = bytes;
    step.estimate.busy[static_cast<size_t>(cost::Unit::Memory)] = bytes / rate / step.estimate.seconds;
    result.seconds += step.estimate.seconds;
    result.steps.push_back(std::move(step));
  }

  /// As `tkc bench` counts, so that the rates compare.
  void count(const KernelInfo &info, const Specialization &specialization, const planner::PlanOptions &own,
             const CallArguments &call, const PredictedStep &step) {
    if (step.estimate.operations <= 0)
      return;
    std::vector<planner::ElaboratedKernel> elaborated =
        planner::elaborateSpecialization(module, info, specialization, own, diagnostics);
    const auto each = std::find_if(elaborated.begin(), elaborated.end(), [&](const planner::ElaboratedKernel &of) {
      return serves(of.schedule, specialization, withoutTensors(call));
    });
    if (each != elaborated.end() && own.transform && own.transform(*each->function))
      result.operations += countProductOperations(*each->function, call);
  }

  const Module &module;
  const PreparedCase &prepared;
  planner::PlanOptions plans;
  const PredictOptions &options;
  DiagnosticEngine &diagnostics;
};

} // namespace

planner::PlanOptions optionsFor(const KernelInfo &kernel, const planner::PlanOptions &plans,
                                const std::map<std::string, int64_t> &tunes) {
  planner::PlanOptions result = plans;
  const auto concerns = [&](const std::string &name) {
    const auto &own = kernel.signature.tunes;
    return std::any_of(own.begin(), own.end(), [&](const auto &tune) { return tune.first == name; }) ||
           std::any_of(planner::keys().begin(), planner::keys().end(),
                       [&](const planner::Key &key) { return key.name == name; });
  };
  std::erase_if(result.overrides, [&](const auto &setting) { return !concerns(setting.first); });
  for (const auto &[name, value] : tunes)
    if (concerns(name) && result.overrides.count(name) == 0)
      result.overrides[name].number = static_cast<double>(value);
  return result;
}

cost::CallShape shapeOf(const CallArguments &arguments) {
  cost::CallShape shape;
  shape.dims = arguments.symbols;
  for (const auto &[name, value] : arguments.scalars)
    shape.scalars[name] = value.toDouble();
  shape.alignments = arguments.alignments;
  return shape;
}

std::optional<size_t> takenOf(const std::vector<planner::PlannedKernel> &planned, const Specialization &specialization,
                              const CallArguments &call, const cost::CallShape &shape) {
  std::vector<ScheduleTerms> schedules;
  for (const planner::PlannedKernel &kernel : planned)
    schedules.push_back(kernel.terms);
  return tkc::takenOf(schedules, specialization, call,
                      [&](size_t i) { return !planned[i].plan->aligned || cost::suits(*planned[i].plan, shape); });
}

std::optional<Prediction> predict(const Module &module, const Subject &subject, const PreparedCase &prepared,
                                  const planner::PlanOptions &plans, const PredictOptions &options,
                                  DiagnosticEngine &diagnostics) {
  Predictor predictor(module, prepared, plans, options, diagnostics);
  const bool done = subject.program ? predictor.program(*subject.program)
                                    : predictor.kernel(*subject.kernel, prepared.specialization, prepared.arguments,
                                                       shapeOf(prepared.arguments));
  if (!done)
    return std::nullopt;
  if (options.counts)
    predictor.result.bytes = countBytes(*prepared.signature, prepared.arguments);
  return std::move(predictor.result);
}

} // namespace tkc::harness
