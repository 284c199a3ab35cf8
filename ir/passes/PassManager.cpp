// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/passes/PassManager.h"

#include "ir/TileIR.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <iterator>

namespace tkc::ir {

std::span<const PassInfo> allPasses() {
  static constexpr PassInfo passes[] = {
#define TKC_PASS(name, function, summary) {name, function, summary},
#include "ir/passes/Passes.def"
  };
  return passes;
}

const PassInfo *findPass(std::string_view name) {
  for (const PassInfo &pass : allPasses())
    if (pass.name == name)
      return &pass;
  return nullptr;
}

PassReport runPasses(Function &function, const std::vector<const PassInfo *> &passes, const PassOptions &options) {
  PassReport report;
  // Text is made only where somebody reads it: printing costs more than a pass.
  const bool keepsText = !options.printAfter.empty() || options.verifyEach;
  std::string before = keepsText ? print(function) : std::string();
  for (size_t i = 0; i < passes.size(); ++i) {
    const PassInfo &pass = *passes[i];
    auto start = std::chrono::steady_clock::now();
    pass.run(function);
    std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    report.times.push_back({pass.name, time.count()});

    std::string after = keepsText ? print(function) : std::string();
    if (options.printAfter.count("all") || options.printAfter.count(std::string(pass.name)))
      fmt::format_to(std::back_inserter(report.printed), "// ---- after {} ({} of {}) of @{}{}\n{}", pass.name, i + 1,
                     passes.size(), function.kernel, after == before ? ": no change" : "",
                     after == before ? std::string() : after);
    if (options.verifyEach)
      if (std::vector<VerifyError> errors = verify(function); !errors.empty()) {
        report.internalError = fmt::format("after {}: {}", pass.name, errors.front().message);
        report.brokenBy = pass.name;
        report.before = std::move(before);
        return report;
      }
    before = std::move(after);
    if (pass.name == options.stopAfter)
      break;
  }
  return report;
}

std::string formatTimes(const std::vector<PassReport::Time> &times) {
  struct Row {
    std::string_view pass;
    double milliseconds = 0;
    int runs = 0;
  };
  std::vector<Row> rows;
  double total = 0;
  for (const PassReport::Time &time : times) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row &row) { return row.pass == time.pass; });
    if (row == rows.end())
      row = rows.insert(rows.end(), {time.pass});
    row->milliseconds += time.milliseconds;
    row->runs += 1;
    total += time.milliseconds;
  }
  std::string text = fmt::format("{:<16} {:>5} {:>10}\n", "pass", "runs", "ms");
  for (const Row &row : rows)
    text += fmt::format("{:<16} {:>5} {:>10.3f}\n", row.pass, row.runs, row.milliseconds);
  return text + fmt::format("{:<16} {:>5} {:>10.3f}\n", "total", "", total);
}

} // namespace tkc::ir
