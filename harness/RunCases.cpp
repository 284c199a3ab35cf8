// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/RunCases.h"

#include "harness/Cases.h"
#include "harness/Expected.h"
#include "harness/Runnables.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <chrono>
#include <fmt/core.h>

namespace tkc::harness {
namespace {

class Runner {
public:
  Runner(const Module &module, const RunOptions &options, DiagnosticEngine &diagnostics)
      : module(module), options(options), diagnostics(diagnostics), runnables(module, options) {}

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
        runnables.prepare(subject, prepared->specialization, prepared->tunes, diagnostics);
    if (!runnable)
      return reported();
    const std::optional<Expected> expected = computeExpected(*prepared, module, runnable->errorModel(), diagnostics);
    if (!expected || (!options.weak && !showsSomething(*prepared, *expected, diagnostics)))
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

  const Module &module;
  const RunOptions &options;
  DiagnosticEngine &diagnostics;
  Runnables runnables;
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
