// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tkplan FILE reads plans (.tkplan), or makes those of the kernels of a .tk file, and prints them. --verify says
// instead what is wrong with them, --mutate what the verifier says about each of their mutants, --mutate-operands which
// of those with another operand it lets pass.
#include "Mutants.h"
#include "backends/plan/PlanModule.h"
#include "backends/targets/Description.h"
#include "ir/passes/PassManager.h"
#include "ir/passes/Pipeline.h"
#include "support/Diagnostics.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace tkc;

namespace {

std::vector<std::unique_ptr<plan::Plan>> readPlans(const std::string &path, SourceManager &sources,
                                                   DiagnosticEngine &diagnostics) {
  std::stringstream text;
  if (path == "-")
    text << std::cin.rdbuf();
  else
    text << std::ifstream(path).rdbuf();
  return plan::parsePlan(sources.addBuffer(path, text.str()), diagnostics);
}

std::vector<std::unique_ptr<plan::Plan>> makePlans(const std::string &path, const std::string &arch,
                                                   const std::vector<std::string> &kernels, SourceManager &sources,
                                                   DiagnosticEngine &diagnostics) {
  std::vector<std::unique_ptr<plan::Plan>> plans;
  std::unique_ptr<Module> module = loadModule(path, {}, sources, diagnostics);
  planner::PlanOptions options;
  options.arch = arch::find(arch);
  options.onlyKernels = kernels;
  options.transform = [](ir::Function &function) {
    return !ir::runPasses(function, ir::tilePipeline(), {}).internalError;
  };
  options.verify = false;
  for (planner::PlannedKernel &planned : planner::planModule(*module, options, diagnostics))
    plans.push_back(std::move(planned.plan));
  return plans;
}

std::string title(const plan::Plan &plan) {
  std::string text = plan.kernel;
  for (auto &[name, type] : plan.typeArgs)
    text += fmt::format(" {}={}", name, spelling(type));
  for (auto &[name, value] : plan.constants)
    text += fmt::format(" {}={}", name, value);
  return text;
}

/// What the GPU has; of NVIDIA's, which differ by sizes alone, what Hopper has, with the tensor memory of GPUs
/// that have some, and launch control where the plan's GPU has it.
plan::Budget budgetOf(const plan::Plan &plan) {
  const arch::Description *gpu = arch::find(plan.arch);
  if (gpu && gpu->language == arch::Language::Hip)
    return gpu->budget();
  plan::Budget budget;
  budget.tensorColumns = 512;
  budget.hasClusterLaunchControl = gpu && gpu->budget().hasClusterLaunchControl;
  return budget;
}

/// Whether it is sound.
bool verify(const plan::Plan &plan, const SourceManager &sources) {
  std::vector<plan::Violation> violations = plan::verify(plan, budgetOf(plan));
  for (const plan::Violation &violation : violations)
    fmt::print("{}: {}\n", violation.loc.isValid() ? sources.lineColumn(violation.loc).line : 0, violation.message);
  fmt::print("{}: {}\n", title(plan), violations.empty() ? "sound" : "refused");
  return violations.empty();
}

/// One line a mutant, and a sum. A mutant that passes without a reason why it may is a fault of the verifier's.
void mutate(const plan::Plan &plan, const SourceManager &sources) {
  if (!plan::verify(plan, budgetOf(plan)).empty())
    return fmt::print("{}: refused as it is\n", title(plan));
  int refused = 0, harmless = 0, missed = 0;
  for (const Mutant &mutant : mutantsOf(plan)) {
    std::vector<plan::Violation> violations = plan::verify(mutant.plan, budgetOf(plan));
    std::string verdict = "refused", reason = violations.empty() ? mutant.ifHarmless : violations.front().message;
    if (!violations.empty())
      ++refused;
    else if (!mutant.ifHarmless.empty())
      ++harmless, verdict = "harmless";
    else
      ++missed, verdict = "MISSED";
    fmt::print("{}: {}: {}: {}\n", mutant.loc.isValid() ? sources.lineColumn(mutant.loc).line : 0, mutant.change,
               verdict, reason);
  }
  fmt::print("{}: {} mutants refused, {} harmless, {} missed\n", title(plan), refused, harmless, missed);
}

/// One line a mutant that is let through, and a sum by kind of change. Some are sound: a variable that nothing else
/// refers to may as well be larger, and one that holds as much of the same type may stand for another as far as the
/// verifier can tell.
void mutateOperands(const plan::Plan &plan, const SourceManager &sources, size_t step) {
  if (!plan::verify(plan, budgetOf(plan)).empty())
    return fmt::print("{}: refused as it is\n", title(plan));
  int refused = 0, passed = 0;
  forEachOperandMutant(plan, step, [&](const Mutant &mutant) {
    if (!plan::verify(mutant.plan, budgetOf(plan)).empty())
      return void(++refused);
    ++passed;
    fmt::print("{}: {}: sound\n", mutant.loc.isValid() ? sources.lineColumn(mutant.loc).line : 0, mutant.change);
  });
  fmt::print("{}: {} operand mutants refused, {} sound\n", title(plan), refused, passed);
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Reads or makes plans and prints them");
  std::string path, arch = "sm_90a";
  std::vector<std::string> kernels;
  bool verifyOnly = false, mutateOnly = false;
  size_t operandStep = 0;
  app.add_option("file", path, "a .tkplan or .tk file")->required();
  app.add_option("--arch", arch, "the GPU that a .tk file is planned for");
  app.add_option("--kernel", kernels, "only these kernels of a .tk file");
  app.add_flag("--verify", verifyOnly, "say what is wrong with them");
  app.add_flag("--mutate", mutateOnly, "say what is wrong with each of their mutants");
  app.add_option("--mutate-operands", operandStep,
                 "which of their mutants with another operand are sound, of every so many");
  CLI11_PARSE(app, argc, argv);

  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  auto plans = path.ends_with(".tk") ? makePlans(path, arch, kernels, sources, diagnostics)
                                     : readPlans(path, sources, diagnostics);
  for (const Diagnostic &diagnostic : diagnostics.all())
    fmt::print(stderr, "{}", sources.render(diagnostic, false));
  bool areSound = true;
  for (const std::unique_ptr<plan::Plan> &plan : plans) {
    if (verifyOnly)
      areSound &= verify(*plan, sources);
    else if (mutateOnly)
      mutate(*plan, sources);
    else if (operandStep > 0)
      mutateOperands(*plan, sources, operandStep);
    else
      fmt::print("{}", plan::print(*plan, path.ends_with(".tk") ? &sources : nullptr));
  }
  return diagnostics.hasErrors() || !areSound ? 1 : 0;
}
