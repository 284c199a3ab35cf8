// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc test --target=gpu` and `tkc bench`: the program of the cases is written, built with nvcc, and run; with
// `--target=emulator` it is emulated as it is.
#include "tkc/TestGpu.h"

#include "backends/targets/nvidia/Nvcc.h"
#include "tkc/Cases.h"
#include "tkc/Driver.h"
#include "tkc/Files.h"
#include "tkc/TargetDiagnostics.h"
#include "tkc/Targets.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Program.h>

#include <fmt/ranges.h>
#include <numeric>

namespace tkc::driver {
namespace {

/// Standard output goes to `output` where that is not empty, standard error to `errors`.
struct Execution {
  int status;          ///< negative after a signal
  std::string problem; ///< what the system says of it then
};
Execution execute(const std::string &program, const std::vector<std::string> &arguments, const std::string &output,
                  const std::string &errors) {
  std::vector<llvm::StringRef> all = {program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const std::optional<llvm::StringRef> redirects[] = {
      std::nullopt, output.empty() ? std::nullopt : std::optional<llvm::StringRef>(output),
      errors.empty() ? std::nullopt : std::optional<llvm::StringRef>(errors)};
  Execution result{0, ""};
  result.status = llvm::sys::ExecuteAndWait(program, all, std::nullopt, redirects, 0, 0, &result.problem);
  return result;
}

class GpuTest {
public:
  /// Headers of extern functions are looked for from `sourceFolder`. `someCases`: the program has not all of the
  /// file's.
  GpuTest(const GpuTestOptions &options, const arch::Description &target, harness::GpuProgram program, bool someCases,
          std::string sourceFolder)
      : options(options), target(target), program(std::move(program)), someCases(someCases),
        sourceFolder(sourceFolder.empty() ? "." : std::move(sourceFolder)) {}

  int run(GpuResults &results) {
    int code = makeFolder();
    if (code == Success && !options.emulate)
      code = build();
    if (code == Success && !options.buildOnly)
      code = options.emulate ? emulate() : (runProgram(), Success);
    results = {&target, std::move(program.cases), std::move(program.bytes), std::move(program.operations), {}, {}};
    if (isProfile(options.purpose)) {
      results.events = program.files["0.events"];
      results.trace = readIfThere(inFolder(folder, "0.trace"));
    }
    if (options.folder.empty() && !folder.empty())
      llvm::sys::fs::remove_directories(folder);
    return code;
  }

private:
  int makeFolder() {
    llvm::SmallString<256> path(options.folder);
    const std::error_code error = options.folder.empty() ? llvm::sys::fs::createUniqueDirectory("tkc-test", path)
                                                         : llvm::sys::fs::create_directories(path);
    if (error) {
      complain(fmt::format("cannot make the folder `{}`: {}", path.str().str(), error.message()));
      return CannotWriteOutput;
    }
    folder = path.str().str();
    for (const auto &[name, text] : program.files)
      if (const int code = writeOutput(inFolder(folder, name), text); code != Success)
        return code;
    return writeOutput(inFolder(folder, "test.cu"), program.source);
  }

  int build() {
    const std::string nvcc = findNvcc();
    if (nvcc.empty()) {
      complain("--target=gpu needs nvcc, of the CUDA toolkit, in PATH or in /usr/local/cuda/bin");
      return Usage;
    }
    const std::string log = inFolder(folder, "build.log");
    const int status = execute(nvcc,
                               {"-std=c++20", "-O3", "-gencode", cuda::gencodeOf(target), "-I", sourceFolder, "-o",
                                inFolder(folder, "run"), inFolder(folder, "test.cu")},
                               log, log)
                           .status;
    if (status == 0)
      return Success;
    complain(fmt::format("nvcc refused the emitted code, which is a bug in tkc:\n{}", readIfThere(log)));
    return InternalError;
  }

  int emulate() {
    const std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
    const std::string emulator = inFolder(llvm::sys::path::parent_path(self), "tkc-emulate");
    if (!llvm::sys::fs::can_execute(emulator)) {
      complain(fmt::format("--target=emulator needs `{}`", emulator));
      return Usage;
    }
    std::vector<std::string> arguments{fmt::format("--seed={}", options.order), "--arch", target.name, "-I",
                                       sourceFolder};
    if (options.captured)
      arguments.emplace_back("--captured");
    arguments.insert(arguments.end(), {inFolder(folder, "test.cu"), "--", "--once"});
    addProfileOptions(arguments);
    std::vector<std::string> ofFirst;
    if (someCases)
      ofFirst.emplace_back("--at-launch");
    if (!options.counts.empty())
      ofFirst.insert(ofFirst.end(), {"--counts", options.counts});
    runProgram(emulator, arguments, ofFirst, {"--at-launch"});
    return options.counts.empty() ? Success : addNeeded();
  }

  /// To what the emulator counted, what the cases' products come to: those of whole tiles and instructions.
  int addNeeded() {
    llvm::Expected<llvm::json::Value> counts = llvm::json::parse(readIfThere(options.counts));
    if (!counts) {
      llvm::consumeError(counts.takeError()); // the emulator has said why there are none
      return Success;
    }
    const double operations = std::accumulate(program.operations.begin(), program.operations.end(), 0.0);
    counts->getAsObject()->try_emplace("neededMultiplyAdds", operations / 2);
    return writeOutput(options.counts, llvm::formatv("{0:2}\n", *counts).str());
  }

  void runProgram() {
    std::vector<std::string> arguments;
    if (options.purpose == harness::GpuPurpose::Bench)
      arguments.emplace_back("--bench");
    addProfileOptions(arguments);
    runProgram(inFolder(folder, "run"), arguments);
  }

  void addProfileOptions(std::vector<std::string> &arguments) const {
    if (!isProfile(options.purpose))
      return;
    arguments.insert(arguments.end(), {"--records", std::to_string(options.records)});
    if (!options.blocks.empty())
      arguments.insert(arguments.end(), {"--blocks", fmt::format("{}", fmt::join(options.blocks, ","))});
  }

  /// A case that ends the program, or after which nothing runs in its process, leaves those after it to another one.
  void runProgram(const std::string &command, const std::vector<std::string> &arguments,
                  const std::vector<std::string> &ofFirst = {}, const std::vector<std::string> &ofLater = {}) {
    const std::string output = inFolder(folder, "results"), errors = inFolder(folder, "errors");
    std::vector<std::string> all = arguments;
    all.insert(all.begin(), ofFirst.begin(), ofFirst.end());
    for (bool began = true; began;) {
      const Execution execution = execute(command, all, output, errors);
      const std::string said = readIfThere(errors);
      const std::string why = !said.empty()               ? said.substr(0, said.find('\n'))
                              : execution.problem.empty() ? "the program ended in it"
                                                          : "the program ended in it: " + execution.problem;
      began = harness::readResults(readIfThere(output), why, program.cases) && !isProfile(options.purpose);
      all = ofLater;
      all.insert(all.end(), arguments.begin(), arguments.end());
      bool isDone = true;
      for (size_t i = 0; i < program.cases.size(); ++i)
        if (harness::CaseResult &result = program.cases[i]; !result.passed && result.message.empty()) {
          isDone = false;
          all.push_back(std::to_string(i));
          if (!began)
            result.message = why;
        }
      if (isDone)
        return;
    }
  }

  const GpuTestOptions &options;
  const arch::Description &target;
  harness::GpuProgram program;
  const bool someCases;
  const std::string sourceFolder;
  std::string folder;
};

int runOn(const arch::Description &target, const Module &module, const GpuTestOptions &gpu,
          const harness::RunOptions &options, const SourceManager &sources, DiagnosticEngine &diagnostics,
          GpuResults &results) {
  planner::PlanOptions plans = plansFor(target);
  if (isProfile(gpu.purpose))
    plans.instrument = gpu.everyWait ? planner::Instrumentation::EveryWait : planner::Instrumentation::Light;
  harness::GpuProgram program = harness::makeGpuProgram(module, plans, options, gpu.purpose, sources, diagnostics);
  if (program.cases.empty()) {
    complain("this file has no case to run on a GPU");
    return InputErrors;
  }
  if (gpu.emulate)
    for (harness::CaseResult &result : program.cases)
      result.how = "emulator";
  const std::string input(sources.name(module.files.front().buffer));
  if (!program.runs) {
    results = {&target, std::move(program.cases), std::move(program.bytes), std::move(program.operations), {}, {}};
    return Success;
  }
  GpuTest test(gpu, target, std::move(program), !options.takesAllCases(), llvm::sys::path::parent_path(input).str());
  return test.run(results);
}

} // namespace

int runOnGpus(const Module &module, const GpuTestOptions &gpu, const harness::RunOptions &options, Session &session,
              const std::function<void(const GpuResults &)> &onResults) {
  const std::vector<const arch::Description *> targets = findTargets(gpu.arch);
  TargetDiagnostics diagnostics(session.diagnostics, targets);
  int code = targets.empty() ? Usage : Success;
  if (targets.size() > 1 && !gpu.counts.empty()) {
    complain("--counts is of one architecture");
    return Usage;
  }
  for (const arch::Description *target : targets) {
    GpuTestOptions one = gpu;
    if (targets.size() > 1 && !gpu.folder.empty())
      one.folder = inFolder(gpu.folder, target->name);
    GpuResults results;
    code = runOn(*target, module, one, options, session.sources, diagnostics.of(*target), results);
    if (code != Success)
      break;
    if (targets.size() > 1) {
      for (harness::CaseResult &result : results.cases)
        result.how += " " + target->name;
      if (!gpu.buildOnly)
        say(fmt::format("{}:\n", target->name));
    }
    onResults(results);
  }
  diagnostics.finish();
  return code;
}

} // namespace tkc::driver
