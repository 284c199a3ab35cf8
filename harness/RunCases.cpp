// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/RunCases.h"

#include "harness/Cases.h"
#include "harness/Expected.h"
#include "harness/Programs.h"
#include "ir/interpreter/Interpreter.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace tkc::harness {
namespace {

class Runner {
public:
  Runner(const Module &module, const RunOptions &options, DiagnosticEngine &diagnostics)
      : module(module), options(options), diagnostics(diagnostics) {}

  std::vector<CaseResult> run() {
    std::vector<std::pair<Subject, size_t>> chosen;
    for (const Subject &subject : subjectsOf(module))
      if (subject.signature->name.find(options.filter) != std::string::npos)
        for (size_t i = 0; i < subject.cases->size(); ++i)
          if (options.takesCase(i, subject.cases->size()))
            chosen.emplace_back(subject, i);
    std::vector<CaseResult> results;
    for (const auto &[subject, index] : chosen) {
      options.onProgress(results.size(), chosen.size(), subject.signature->name);
      results.push_back(runCase(subject, index));
    }
    options.onProgress(chosen.size(), chosen.size(), "");
    return results;
  }

private:
  CaseResult runCase(const Subject &subject, size_t index) {
    CaseResult result;
    result.kernel = subject.signature->name;
    result.how = "interpreter";
    const size_t errorsBefore = diagnostics.numErrors();
    const auto reported = [&] {
      if (diagnostics.numErrors() > errorsBefore)
        result.message = diagnostics.all().back().message;
      return result;
    };
    std::optional<PreparedCase> prepared =
        prepareCase(module, subject, *(*subject.cases)[index], index, {.seed = options.seed}, diagnostics);
    if (!prepared)
      return reported();
    result.description = prepared->description;
    const std::optional<Runnable> runnable =
        subject.kernel ? prepareKernel(*subject.kernel, *prepared) : prepareProgram(*subject.program, *prepared);
    if (!runnable)
      return reported();
    const std::optional<Expected> expected = computeExpected(*prepared, module, runnable->errorModel, diagnostics);
    if (!expected)
      return reported();

    const auto start = std::chrono::steady_clock::now();
    const std::optional<ir::RuntimeError> error = runnable->run(prepared->arguments);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (error) {
      diagnostics.report(Diag::kernel_stopped, {error->loc, error->loc}, error->message);
      return reported();
    }
    if (!prepared->reference) {
      result.passed = true;
      result.message = "it ran; there is no reference to compare with";
      return result;
    }
    const Comparison comparison = compare(prepared->arguments.tensors, *expected);
    result.maxError = comparison.maxError;
    result.tolerance = comparison.tolerance;
    result.passed = comparison.passed;
    result.message = comparison.message;
    return result;
  }

  struct Runnable {
    std::function<std::optional<ir::RuntimeError>(CallArguments &)> run;
    ErrorModel errorModel;
  };

  std::map<std::string, int64_t> tunesOf(const PreparedCase &prepared) const {
    std::map<std::string, int64_t> tunes = prepared.tunes;
    tunes.insert(options.tunes.begin(), options.tunes.end());
    return tunes;
  }

  std::optional<Runnable> prepareKernel(const KernelInfo &kernel, const PreparedCase &prepared) {
    const ir::Function *function = functionFor(kernel, prepared.specialization, tunesOf(prepared));
    if (!function)
      return std::nullopt;
    return Runnable{[function, padded = options.padded](CallArguments &arguments) {
                      return ir::interpret(*function, arguments, {padded});
                    },
                    errorModelOf({function}, Arithmetic::Exact)};
  }

  std::optional<Runnable> prepareProgram(const ProgramInfo &program, const PreparedCase &prepared) {
    std::shared_ptr<ProgramPlan> plan = planProgram(module, program, prepared.specialization, diagnostics);
    if (!plan)
      return std::nullopt;
    const auto functionOf = [this](const LaunchStep &step) {
      return functionFor(*step.kernel, step.specialization, options.tunes);
    };
    std::vector<const ir::Function *> launched;
    for (const LaunchStep *launch : launchesOf(*plan)) {
      launched.push_back(functionOf(*launch));
      if (!launched.back())
        return std::nullopt;
    }
    return Runnable{[plan, functionOf, padded = options.padded](CallArguments &arguments) {
                      return runProgram(*plan, functionOf, arguments, {padded});
                    },
                    errorModelOf(launched, Arithmetic::Exact, workspaceTypes(*plan))};
  }

  /// Cases often mean one specialisation.
  const ir::Function *functionFor(const KernelInfo &kernel, const Specialization &specialization,
                                  const std::map<std::string, int64_t> &tunes) {
    for (const Elaborated &known : functions)
      if (known.kernel == &kernel && known.specialization == specialization && known.tunes == tunes)
        return known.function.get();
    std::unique_ptr<ir::Function> function = elaborate(module, kernel, specialization, tunes, {}, diagnostics);
    if (function)
      options.transform(*function);
    functions.push_back({&kernel, specialization, tunes, std::move(function)});
    return functions.back().function.get();
  }

  struct Elaborated {
    const KernelInfo *kernel;
    Specialization specialization;
    std::map<std::string, int64_t> tunes;
    std::unique_ptr<ir::Function> function;
  };

  const Module &module;
  const RunOptions &options;
  DiagnosticEngine &diagnostics;
  std::vector<Elaborated> functions;
};

} // namespace

bool RunOptions::takesCase(size_t index, size_t count) const {
  if (onlyCase)
    return index == *onlyCase;
  const size_t step = std::clamp<size_t>(sampleStep, 1, std::max<size_t>(count, 1));
  return index % step == sampleFirst % step;
}

std::vector<CaseResult> runCases(const Module &module, const RunOptions &options, DiagnosticEngine &diagnostics) {
  return Runner(module, options, diagnostics).run();
}

} // namespace tkc::harness
