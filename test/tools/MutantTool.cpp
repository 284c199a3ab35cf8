// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tkmutant FILE.tk --kernel NAME -o DIR writes, for each mutant of the kernel's plan, the program that runs the first
// case of the kernel, or of a program that launches it, with it, DIR/N/test.cu and its data, and prints a line of JSON:
// number, change, and what the verifier says. test/targets/mutants.py runs them on the emulator.
#include "Mutants.h"
#include "harness/GpuProgram.h"
#include "ir/passes/PassManager.h"
#include "ir/passes/Pipeline.h"
#include "support/Diagnostics.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

using namespace tkc;

namespace {

struct Options {
  std::string path, arch = "sm_90a", kernel, subject, only, folder;
  size_t first = 0, step = 1; ///< of the mutants
  std::map<std::string, int64_t> tunes;
  std::map<std::string, double> sizes;
};

/// The program of the first case, each plan handed to `change`.
harness::GpuProgram makeProgram(const Module &module, const Options &options, std::function<void(plan::Plan &)> change,
                                const SourceManager &sources, DiagnosticEngine &diagnostics) {
  planner::PlanOptions plans;
  plans.arch = arch::find(options.arch);
  plans.transform = [](ir::Function &function) {
    return !ir::runPasses(function, ir::tilePipeline(), {}).internalError;
  };
  plans.verify = false;
  plans.onPlanned = std::move(change);
  harness::RunOptions run;
  run.filter = options.subject.empty() ? options.kernel : options.subject;
  run.sampleStep = SIZE_MAX;
  run.tunes = options.tunes;
  run.sizes = options.sizes;
  return harness::makeGpuProgram(module, plans, run, harness::GpuPurpose::Test, sources, diagnostics);
}

void write(const std::filesystem::path &folder, const harness::GpuProgram &program) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "test.cu") << program.source;
  for (const auto &[name, text] : program.files)
    std::ofstream(folder / name, std::ios::binary) << text;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Writes programs that run mutants of a kernel's plan");
  Options options;
  app.add_option("FILE", options.path, "a .tk file")->required();
  app.add_option("--arch", options.arch, "the GPU to plan for");
  app.add_option("--kernel", options.kernel, "the kernel, of which the first case runs")->required();
  app.add_option("--case", options.subject,
                 "the program that launches the kernel, of which the first case runs instead");
  app.add_option("--first", options.first, "the number of the first mutant");
  app.add_option("--step", options.step, "only every so many mutants")->check(CLI::PositiveNumber);
  app.add_option("--only", options.only, "only mutants of which this is said, in part");
  app.add_option("-o", options.folder, "where the programs go")->required();
  app.add_option("--tune", options.tunes, "tunes and schedule keys: NAME VALUE");
  app.add_option("--size", options.sizes, "dims of the case: NAME VALUE");
  CLI11_PARSE(app, argc, argv);

  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  const std::unique_ptr<Module> module = loadModule(options.path, {}, sources, diagnostics);
  std::vector<Mutant> mutants;
  const plan::Budget budget = arch::find(options.arch)->budget();
  makeProgram(
      *module, options,
      [&](plan::Plan &plan) {
        if (plan.kernel != options.kernel)
          return;
        mutants = mutantsOf(plan);
        std::erase_if(mutants,
                      [&](const Mutant &mutant) { return mutant.change.find(options.only) == std::string::npos; });
      },
      sources, diagnostics);
  for (size_t i = options.first; i < mutants.size(); i += options.step) {
    const auto replace = [&](plan::Plan &plan) {
      if (plan.kernel == options.kernel)
        plan = std::move(mutants[i].plan);
    };
    const std::vector<plan::Violation> violations = plan::verify(mutants[i].plan, budget);
    write(std::filesystem::path(options.folder) / std::to_string(i),
          makeProgram(*module, options, replace, sources, diagnostics));
    const llvm::json::Value line = llvm::json::Object{{"number", static_cast<int64_t>(i)},
                                                      {"change", mutants[i].change},
                                                      {"refused", violations.empty() ? "" : violations.front().message},
                                                      {"harmless", mutants[i].ifHarmless}};
    llvm::outs() << line << "\n";
  }
  for (const Diagnostic &diagnostic : diagnostics.all())
    fmt::print(stderr, "{}", sources.render(diagnostic, false));
  return diagnostics.hasErrors() || mutants.empty();
}
