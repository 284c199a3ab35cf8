// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tkir: tile IR in, passes, tile IR out, for tests of the IR and of each pass by itself.
//   tkir FILE.tkir --passes=cse,dce | --pipeline
#include "ir/TileIR.h"
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

struct Options {
  std::string file;
  std::vector<std::string> passes;
  std::vector<std::string> printAfter;
  std::string stopAfter;
  bool pipeline = false, printPipeline = false, listPasses = false, times = false, locations = false;
};

int reportAll(const SourceManager &sources, const DiagnosticEngine &diagnostics) {
  for (const Diagnostic &diagnostic : diagnostics.all())
    std::cerr << sources.render(diagnostic, false);
  return diagnostics.hasErrors() ? 1 : 0;
}

int run(const Options &options) {
  std::ifstream file(options.file);
  std::stringstream text;
  text << file.rdbuf();
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  auto functions = ir::parseTileIR(sources.addBuffer(options.file, text.str()), diagnostics);
  if (diagnostics.hasErrors())
    return reportAll(sources, diagnostics);
  for (auto &function : functions)
    for (const ir::VerifyError &error : ir::verify(*function))
      diagnostics.report(Diag::ir_unsound, {error.loc, error.loc}, error.message);
  if (diagnostics.hasErrors())
    return reportAll(sources, diagnostics);

  std::vector<const ir::PassInfo *> passes;
  if (options.pipeline)
    passes = ir::tilePipeline();
  for (const std::string &name : options.passes) {
    passes.push_back(ir::findPass(name));
    if (!passes.back()) {
      std::cerr << fmt::format("error: no pass `{}`\n", name);
      return 1;
    }
  }
  ir::PassOptions passOptions{{options.printAfter.begin(), options.printAfter.end()}, options.stopAfter, true};
  for (auto &function : functions) {
    ir::PassReport report = ir::runPasses(*function, passes, passOptions);
    std::cout << report.printed;
    if (report.internalError) {
      std::cerr << "internal error: " << *report.internalError << '\n' << ir::print(*function);
      return 70;
    }
    if (options.times)
      std::cerr << ir::formatTimes(report.times);
    if (options.printAfter.empty())
      std::cout << ir::print(*function, {options.locations ? &sources : nullptr});
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("tile IR in, passes, tile IR out");
  Options options;
  app.add_option("file", options.file);
  app.add_option("--passes", options.passes)->delimiter(',');
  app.add_option("--print-after", options.printAfter)->delimiter(',');
  app.add_option("--stop-after", options.stopAfter);
  app.add_flag("--pipeline", options.pipeline);
  app.add_flag("--print-pipeline", options.printPipeline);
  app.add_flag("--list-passes", options.listPasses);
  app.add_flag("--time-passes", options.times);
  app.add_flag("--locations", options.locations);
  CLI11_PARSE(app, argc, argv);
  if (options.printPipeline)
    std::cout << ir::printTilePipeline();
  if (options.listPasses)
    for (const ir::PassInfo &pass : ir::allPasses())
      std::cout << fmt::format("{:<14} {}\n", pass.name, pass.summary);
  return options.file.empty() ? 0 : run(options);
}
