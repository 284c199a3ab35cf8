// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/tune/Work.h"

#include "backends/plan/TuneDependence.h"
#include "backends/schedule/Schedule.h"
#include "harness/CaseData.h"
#include "harness/Operations.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/ranges.h>

namespace tkc::tune {
namespace {

/// Calls that are as small are compared with the reference, others with what the default computes.
constexpr double mostReferenceOperations = 5e8, mostReferenceElements = 0x1p22;

class Finder {
public:
  Finder(const Module &module, const planner::PlanOptions &plans, const WorkOptions &options,
         DiagnosticEngine &diagnostics)
      : module(module), plans(plans), options(options), diagnostics(diagnostics) {}

  std::vector<std::unique_ptr<Work>> run() {
    for (const harness::Subject &subject : harness::subjectsOf(module))
      if (subject.kernel && isWanted(subject.signature->name))
        addBenches(subject);
    for (auto &one : work)
      complete(*one);
    return std::move(work);
  }

private:
  bool isWanted(const std::string &name) const {
    return name.find(options.filter) != std::string::npos &&
           (options.kernels.empty() ||
            std::find(options.kernels.begin(), options.kernels.end(), name) != options.kernels.end());
  }

  void addBenches(const harness::Subject &subject) {
    static const std::vector<std::map<std::string, double>> asWritten(1);
    const auto &sizes = options.sizes.empty() ? asWritten : options.sizes;
    for (size_t i = 0; i < subject.benches->size(); ++i)
      for (size_t s = 0; s < sizes.size(); ++s) {
        auto prepared = harness::prepareCase(module, subject, *(*subject.benches)[i], i,
                                             {options.seed, sizes[s], /*deviceMakesInputs=*/true}, diagnostics);
        if (prepared && (options.types.empty() || hasTypes(prepared->specialization, options.types[s])))
          addShape(subject, std::move(*prepared), i, sizes[s]);
      }
  }

  static bool hasTypes(const Specialization &specialization, const std::map<std::string, std::string> &types) {
    return std::all_of(types.begin(), types.end(), [&](const auto &wanted) {
      return std::any_of(specialization.typeArgs.begin(), specialization.typeArgs.end(), [&](const auto &type) {
        return type.first == wanted.first && spelling(type.second) == wanted.second;
      });
    });
  }

  void addShape(const harness::Subject &subject, harness::PreparedCase prepared, size_t index,
                const std::map<std::string, double> &sizes) {
    Work *into = nullptr;
    for (auto &one : work)
      if (one->kernel == subject.kernel && one->specialization == prepared.specialization)
        into = one.get();
    if (!into) {
      work.push_back(std::make_unique<Work>());
      into = work.back().get();
      into->kernel = subject.kernel;
      into->bare = *subject.kernel;
      into->bare.schedules.clear();
      into->specialization = prepared.specialization;
      subjects.push_back(subject);
    }
    for (const Shape &shape : into->shapes)
      if (shape.prepared.description == prepared.description)
        return;
    into->shapes.push_back({std::move(prepared), "", 0, 0, 0});
    origins[&*into].push_back({index, sizes});
  }

  void complete(Work &one) {
    for (const auto &[name, value] : one.kernel->signature.tunes)
      one.tuneOrder.push_back(name);
    const size_t errorsBefore = diagnostics.numErrors();
    std::vector<planner::ElaboratedKernel> elaborated =
        planner::elaborateSpecialization(module, one.bare, one.specialization, plans, diagnostics);
    if (elaborated.empty() || diagnostics.numErrors() > errorsBefore) {
      one.trouble = "it has errors";
      return;
    }
    ir::Function &function = *elaborated.front().function;
    for (const std::string &tune : one.tuneOrder)
      one.defaults[tune] = function.findConstant(tune).value_or(0);
    const ErrorModel model = harness::errorModelOf({&function}, harness::Arithmetic::Nvidia);
    fix(one, planner::dependentTunes(module, elaborated.front(), diagnostics.sourceManager()));
    findStarts(one);
    if (options.encode)
      addChecks(one, model);
    if (plans.transform)
      plans.transform(function);
    for (size_t i = 0; i < one.shapes.size(); ++i)
      complete(one, one.shapes[i], origins[&one][i], function, model);
  }

  /// What the command line fixes, tunes that results depend on, and keys that are about more than speed.
  void fix(Work &one, const std::map<std::string, std::string> &dependent) {
    for (const auto &[name, value] : options.fixed)
      if (one.defaults.count(name) || isKey(name))
        one.fixed[name] = value;
    for (const auto &[name, why] : dependent)
      one.fixed.try_emplace(name, one.defaults.at(name));
  }

  static bool isKey(const std::string &name) {
    return std::any_of(planner::keys().begin(), planner::keys().end(),
                       [&](const planner::Key &key) { return key.name == name; });
  }

  void findStarts(Work &one) {
    for (const ChosenSchedule &schedule :
         findSchedules(one.kernel->schedules, plans.arch->scheduleNames(), one.specialization)) {
      Settings settings;
      for (const auto &[name, value] : schedule.settings)
        if (value.name.empty())
          settings[name] = static_cast<int64_t>(value.number);
      if (schedule.isLast)
        for (const planner::Key &key : planner::keys())
          if (const auto found = settings.find(std::string(key.name)); !key.isTuned && found != settings.end())
            one.fixed.insert(*found);
      one.starts.push_back(std::move(settings));
    }
    for (Settings &start : one.starts) {
      for (const auto &[name, value] : one.fixed)
        start[name] = value;
      start = normalized(std::move(start), one.defaults);
    }
  }

  // ---- cases -------------------------------------------------------------------------------------------------------

  /// The cases of this specialisation. If the file has none, those that are with its constants.
  void addChecks(Work &one, const ErrorModel &model) {
    if (!one.kernel->reference) {
      one.trouble = "it has no reference to check results with";
      return;
    }
    std::map<std::string, double> constants;
    for (const auto &[name, value] : one.specialization.constants)
      constants[name] = static_cast<double>(value);
    addChecks(one, model, {});
    if (one.checks.empty())
      addChecks(one, model, constants);
    if (one.checks.empty())
      one.trouble = fmt::format("no case of `{}` can check it: nothing is timed whose result was not",
                                one.kernel->signature.name);
  }

  void addChecks(Work &one, const ErrorModel &model, const std::map<std::string, double> &sizes) {
    const harness::Subject &subject = subjectOf(one);
    for (size_t i = 0; i < subject.cases->size(); ++i) {
      const auto prepared =
          harness::prepareCase(module, subject, *(*subject.cases)[i], i, {options.seed, sizes, false}, diagnostics);
      if (!prepared || prepared->specialization != one.specialization || !prepared->tunes.empty())
        continue;
      if (const auto expected = harness::computeExpected(*prepared, module, model, diagnostics))
        one.checks.push_back({prepared->description, harness::encodeCase(*prepared, *expected)});
    }
  }

  const harness::Subject &subjectOf(const Work &one) const {
    for (size_t i = 0; i < work.size(); ++i)
      if (work[i].get() == &one)
        return subjects[i];
    return subjects.front();
  }

  struct Origin {
    size_t bench;
    std::map<std::string, double> sizes;
  };

  void complete(Work &one, Shape &shape, const Origin &origin, const ir::Function &function, const ErrorModel &model) {
    const CallArguments &arguments = shape.prepared.arguments;
    shape.operations = harness::countProductOperations(function, arguments);
    shape.bytes = harness::countBytes(*shape.prepared.signature, arguments);
    shape.roundoff = std::max({model.narrow, 32 * model.accumulate, 32 * model.compute});
    if (!options.encode || !one.trouble.empty())
      return;
    double elements = 0;
    for (const auto &[name, tensor] : arguments.tensors) {
      double count = 1;
      for (const int64_t dim : tensor.dims)
        count *= static_cast<double>(dim);
      elements += count;
    }
    std::optional<harness::Expected> expected;
    if (elements <= mostReferenceElements && shape.operations <= mostReferenceOperations) {
      const harness::Subject &subject = subjectOf(one);
      auto whole = harness::prepareCase(module, subject, *(*subject.benches)[origin.bench], origin.bench,
                                        {options.seed, origin.sizes, false}, diagnostics);
      if (whole)
        expected = harness::computeExpected(*whole, module, model, diagnostics);
      if (expected)
        shape.prepared = std::move(*whole);
    }
    shape.encoded = harness::encodeCase(shape.prepared, expected.value_or(harness::Expected()));
  }

  const Module &module;
  const planner::PlanOptions &plans;
  const WorkOptions &options;
  DiagnosticEngine &diagnostics;
  std::vector<std::unique_ptr<Work>> work;
  std::vector<harness::Subject> subjects; ///< of each work
  std::map<const Work *, std::vector<Origin>> origins;
};

} // namespace

std::string Work::name() const {
  std::string suffix = specialization.suffix();
  std::replace(suffix.begin(), suffix.end(), '_', ' ');
  return suffix.empty() ? kernel->signature.name : kernel->signature.name + " " + suffix;
}

std::vector<std::unique_ptr<Work>> findWork(const Module &module, const planner::PlanOptions &plans,
                                            const WorkOptions &options, DiagnosticEngine &diagnostics) {
  return Finder(module, plans, options, diagnostics).run();
}

} // namespace tkc::tune
