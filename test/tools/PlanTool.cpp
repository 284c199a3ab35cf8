// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tkplan FILE: reads plans and prints them. --verify: says instead what is wrong with them, a line each.
#include "ir/plan/PlanIR.h"
#include "support/Diagnostics.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

using namespace tkc;

int main(int argc, char **argv) {
  CLI::App app("Reads plans and prints them");
  std::string path;
  app.add_option("file", path, "a .tkplan file")->required();
  bool verify = false;
  app.add_flag("--verify", verify, "say what is wrong with them");
  CLI11_PARSE(app, argc, argv);

  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  uint32_t buffer = sources.addBuffer(path, text.str());
  std::vector<std::unique_ptr<plan::Plan>> plans = plan::parsePlan(buffer, diagnostics);
  for (const Diagnostic &diagnostic : diagnostics.all())
    fmt::print(stderr, "{}", sources.render(diagnostic, false));
  for (const std::unique_ptr<plan::Plan> &plan : plans) {
    if (!verify) {
      fmt::print("{}", plan::print(*plan));
      continue;
    }
    std::vector<plan::Violation> violations = plan::verify(*plan, {});
    for (const plan::Violation &violation : violations)
      fmt::print("{}: {}\n", sources.lineColumn(violation.loc).line, violation.message);
    fmt::print("{}: {}\n", plan->kernel, violations.empty() ? "sound" : "refused");
  }
  return diagnostics.hasErrors() ? 1 : 0;
}
