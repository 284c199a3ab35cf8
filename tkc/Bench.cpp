// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc bench FILE`: the cases of a file, timed on a GPU.
#include "tkc/Cases.h"
#include "tkc/CommandLine.h"
#include "tkc/Driver.h"
#include "tkc/TestGpu.h"

#include <algorithm>
#include <memory>

namespace tkc::driver {
namespace {

struct BenchOptions {
  std::string input;
  GpuTestOptions gpu;
  harness::RunOptions run;
  std::vector<std::string> sizes, settings, scheduleFiles;
};

/// Rates of what nobody counted are left out.
std::string formatRates(const GpuResults &results) {
  size_t kernelWidth = 6, caseWidth = 4;
  for (const harness::CaseResult &result : results.cases) {
    kernelWidth = std::max(kernelWidth, result.kernel.size());
    caseWidth = std::max(caseWidth, std::min<size_t>(60, result.description.size()));
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  {:>11}  {:>8}  {:>8}\n", "kernel", kernelWidth, "case", caseWidth,
                                 "time", "GB/s", "TFLOP/s");
  for (size_t i = 0; i < results.cases.size(); ++i) {
    const harness::CaseResult &result = results.cases[i];
    if (!result.passed) {
      text += fmt::format("{:<{}}  {:<{}}  FAILED: {}\n", result.kernel, kernelWidth, result.description, caseWidth,
                          result.message);
      continue;
    }
    const auto rate = [&](double amount, double unit) {
      return amount > 0 && result.seconds > 0 ? fmt::format("{:.1f}", amount / result.seconds / unit) : "";
    };
    text +=
        fmt::format("{:<{}}  {:<{}}  {:>8.2f} µs  {:>8}  {:>8}\n", result.kernel, kernelWidth, result.description,
                    caseWidth, result.seconds * 1e6, rate(results.bytes[i], 1e9), rate(results.operations[i], 1e12));
  }
  return text;
}

int runBench(BenchOptions &options) {
  if (!takeNumbers(options.sizes, options.settings, options.run))
    return Usage;
  Session session(false);
  const auto [module, inputCode] = readInput(options.input, options.scheduleFiles, session);
  if (!module)
    return inputCode;
  if (!sizesAreKnown(*module, options.run.sizes))
    return Usage;
  options.gpu.purpose = harness::GpuPurpose::Bench;
  bool passed = true;
  const int code = runOnGpus(*module, options.gpu, options.run, session, [&](const GpuResults &results) {
    if (!options.gpu.buildOnly)
      say(formatRates(results));
    for (const harness::CaseResult &result : results.cases)
      passed &= result.passed;
  });
  const int reported = session.finish(passed || options.gpu.buildOnly ? Success : InputErrors);
  return code != Success ? code : reported;
}

} // namespace

void addBench(Command &app, Action &action) {
  auto options = std::make_shared<BenchOptions>();
  Command *command = app.add_subcommand("bench", "time the cases of a file on a GPU");
  command->add_option("FILE", options->input, "a .tk file")->required()->type_name("");
  command->add_option("--filter", options->run.filter, "only kernels whose name contains TEXT")->type_name("TEXT");
  addSizeOption(*command, options->sizes);
  command->add_option("--schedules", options->scheduleFiles, "more schedules, tried before those of the file")
      ->type_name("FILE.tks");
  command->add_option("--set", options->settings, "sets a tune or a schedule's key, as in BM=64; may be repeated")
      ->type_name("KEY=N");
  command->add_option("-o,--output", options->gpu.folder, "keep the program and its data in this folder")
      ->type_name("DIR");
  command->add_option("--arch", options->gpu.arch, "what to compile for, one after the other")
      ->type_name("ARCH,…")
      ->capture_default_str();
  command->add_flag("--build-only", options->gpu.buildOnly, "build it; `DIR/run --bench` does the timing")
      ->needs("--output");
  command->callback([&action, options] { action = [options] { return runBench(*options); }; });
}

} // namespace tkc::driver
