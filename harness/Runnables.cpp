// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/Runnables.h"

#include "frontend/Program.h"
#include "harness/Programs.h"

namespace tkc::harness {

std::optional<Runnable> Runnables::prepare(const Subject &subject, const Specialization &specialization,
                                           const std::map<std::string, int64_t> &tunes, DiagnosticEngine &diagnostics) {
  return subject.kernel ? prepareKernel(*subject.kernel, specialization, tunes, diagnostics)
                        : prepareProgram(*subject.program, specialization, diagnostics);
}

std::optional<Runnable> Runnables::prepareKernel(const KernelInfo &kernel, const Specialization &specialization,
                                                 std::map<std::string, int64_t> tunes, DiagnosticEngine &diagnostics) {
  tunes.insert(options.tunes.begin(), options.tunes.end());
  const ir::Function *function = functionFor(kernel, specialization, tunes, diagnostics);
  if (!function)
    return std::nullopt;
  return Runnable{[function, padded = options.padded](CallArguments &arguments) {
                    return ir::interpret(*function, arguments, {padded});
                  },
                  {function},
                  {}};
}

std::optional<Runnable> Runnables::prepareProgram(const ProgramInfo &program, const Specialization &specialization,
                                                  DiagnosticEngine &diagnostics) {
  std::shared_ptr<ProgramPlan> plan = planProgram(module, program, specialization, diagnostics);
  if (!plan)
    return std::nullopt;
  const auto functionOf = [this, &diagnostics](const LaunchStep &step) {
    return functionFor(*step.kernel, step.specialization, options.tunes, diagnostics);
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
                  std::move(launched), workspaceTypes(*plan)};
}

/// Calls often mean one specialisation.
const ir::Function *Runnables::functionFor(const KernelInfo &kernel, const Specialization &specialization,
                                           const std::map<std::string, int64_t> &tunes, DiagnosticEngine &diagnostics) {
  for (const Elaborated &known : functions)
    if (known.kernel == &kernel && known.specialization == specialization && known.tunes == tunes)
      return known.function.get();
  std::unique_ptr<ir::Function> function = elaborate(module, kernel, specialization, tunes, {}, diagnostics);
  if (function)
    options.transform(*function);
  functions.push_back({&kernel, specialization, tunes, std::move(function)});
  return functions.back().function.get();
}

} // namespace tkc::harness
