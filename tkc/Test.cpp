// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc test FILE`: the cases of a file against their references.
#include "tkc/Cases.h"
#include "tkc/CommandLine.h"
#include "tkc/Driver.h"
#include "tkc/Reproducer.h"
#include "tkc/TestGpu.h"

#include "harness/Reports.h"
#include "harness/RunCases.h"
#include "ir/passes/PassManager.h"
#include "ir/passes/Pipeline.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include <llvm/ADT/StringRef.h>

namespace tkc::driver {
namespace {

enum class Target : uint8_t { Interpreter, Gpu, Emulator };

struct TestOptions {
  std::string input;
  std::string junit;
  std::string json;
  std::vector<std::string> settings, scheduleFiles;
  Target target = Target::Interpreter;
  bool verifyDiagnostics = false;
  bool passes = false;
  harness::RunOptions run;
  GpuTestOptions gpu;
};

/// The passes over tile IR, so that the cases test them too. Stops tkc where a pass leaves unsound IR.
void runTilePasses(ir::Function &function) {
  const ir::PassReport report = ir::runPasses(function, ir::tilePipeline(), {{}, "", /*verifyEach=*/true});
  if (!report.internalError)
    return;
  std::exit(reportBug({fmt::format("tile IR of `{}` {}", function.kernel, *report.internalError), "tkir",
                       fmt::format("--passes={} --verify-each", report.brokenBy), report.before}));
}

/// Of the form I/N.
void readSample(const std::string &text, harness::RunOptions &options) {
  const auto [first, step] = llvm::StringRef(text).split('/');
  if (first.getAsInteger(10, options.sampleFirst) || step.getAsInteger(10, options.sampleStep) ||
      options.sampleStep == 0)
    refuseValue("--sample", fmt::format("`{}` is not of the form I/N", text));
}

int runTests(TestOptions &options) {
  if (options.passes || options.run.padded)
    options.run.transform = runTilePasses;
  if (!takeNumbers({}, options.settings, options.run))
    return Usage;
  Session session(options.verifyDiagnostics);
  const auto [module, inputCode] = readInput(options.input, options.scheduleFiles, session);
  if (!module)
    return inputCode;

  std::vector<harness::CaseResult> results;
  int gpuCode = Success;
  if (options.target != Target::Interpreter) {
    options.gpu.emulate = options.target == Target::Emulator;
    gpuCode = runOnGpus(*module, options.gpu, options.run, session, [&](const GpuResults &of) {
      if (!options.gpu.buildOnly && !options.verifyDiagnostics)
        say(harness::formatTable(of.cases));
      results.insert(results.end(), of.cases.begin(), of.cases.end());
    });
  } else {
    harness::ProgressBar bar;
    options.run.onProgress = [&](size_t done, size_t total, const std::string &name) { bar.show(done, total, name); };
    results = harness::runCases(*module, options.run, session.diagnostics);
  }
  const bool passed =
      std::all_of(results.begin(), results.end(), [](const harness::CaseResult &result) { return result.passed; });
  const int code = session.finish(passed ? Success : InputErrors);
  if (options.verifyDiagnostics)
    return code;
  if (gpuCode != Success || options.gpu.buildOnly)
    return gpuCode != Success ? gpuCode : session.diagnostics.hasErrors() ? InputErrors : Success;
  if (results.empty())
    complain(fmt::format("`{}` has no case to test", options.input));
  else if (options.target == Target::Interpreter)
    say(harness::formatTable(results));
  int written = Success;
  if (!options.junit.empty())
    written = writeOutput(options.junit, harness::formatJUnit(options.input, results));
  if (!options.json.empty() && written == Success)
    written = writeOutput(options.json, harness::formatJson(results));
  if (written != Success)
    return written;
  return results.empty() ? static_cast<int>(InputErrors) : code;
}

} // namespace

void addTest(Command &app, Action &action) {
  auto options = std::make_shared<TestOptions>();
  Command *command = app.add_subcommand("test", "run the cases of a file against their references");
  command->add_option("FILE", options->input, "a .tk file")->required()->type_name("");
  static const std::map<std::string, Target> targets{
      {"interpreter", Target::Interpreter}, {"gpu", Target::Gpu}, {"emulator", Target::Emulator}};
  command
      ->add_choice(
          "--target", options->target, targets,
          "where the kernels run: interpreter, on the CPU, rounding exactly; gpu, built with nvcc; emulator, the "
          "emitted file on the CPU, checked")
      ->type_name("TARGET");
  command
      ->add_option("-o,--output", options->gpu.folder,
                   "of --target=gpu, emulator: keep the program and its data in this folder")
      ->type_name("DIR");
  command
      ->add_option("--order", options->gpu.order,
                   "of --target=emulator: another order of threads and copies for each N but 0")
      ->type_name("N");
  command->add_flag("--captured", options->gpu.captured,
                    "of --target=emulator: launches do as they do when captured into a graph");
  command
      ->add_option("--counts", options->gpu.counts,
                   "of --target=emulator: write the bank conflicts of shared memory by line of the source, and the "
                   "multiply-adds of matrix instructions, as JSON")
      ->type_name("OUT");
  command
      ->add_option("--arch", options->gpu.arch,
                   "of --target=gpu, emulator: what to compile for, one after the other; `all`: every GPU")
      ->type_name("ARCH,…")
      ->capture_default_str();
  command
      ->add_flag("--build-only", options->gpu.buildOnly,
                 "of --target=gpu: build it; DIR/run does the tests. Of emulator: write it")
      ->needs("--output");
  command->add_option("--filter", options->run.filter, "only kernels whose name contains TEXT")->type_name("TEXT");
  command
      ->add_option_function(
          "--sample", [options](const std::string &text) { readSample(text, options->run); },
          "of each kernel's cases only every Nth, from number I on; at least one")
      ->type_name("I/N");
  command->add_option("--seed", options->run.seed, "another seed gives other inputs where the case does not say them")
      ->type_name("N");
  command->add_option("--schedules", options->scheduleFiles, "more schedules, tried before those of the file")
      ->type_name("FILE.tks");
  command->add_option("--set", options->settings, "sets a tune, as in BM=64; may be repeated")->type_name("NAME=N");
  command->add_flag("--passes", options->passes, "run the passes over tile IR first, as compiling does");
  command->add_flag(
      "--padded", options->run.padded,
      "the same, and compute whole tiles with the worst beyond their edges, so that a missing mask shows");
  command->add_flag("--weak", options->run.weak,
                    "take cases that a kernel that stores zeros would pass, as random kernels may have them");
  command->add_option("--junit", options->junit, "also write the results as JUnit XML; - is standard output")
      ->type_name("OUT");
  command->add_option("--json", options->json, "also write the results as JSON; - is standard output")
      ->type_name("OUT");
  command->add_flag("--verify-diagnostics", options->verifyDiagnostics,
                    "succeed if the messages are those that `// expected-error {{…}}` comments say");
  command->callback([&action, options] { action = [options] { return runTests(*options); }; });
}

} // namespace tkc::driver
