// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of cases for people, CI servers and programs.
#pragma once

#include "harness/RunCases.h"

namespace tkc::harness {

/// A row a case, what failed below it, and a closing line "7 passed, 1 failed".
std::string formatTable(const std::vector<CaseResult> &results);
/// JUnit's XML: one suite, named `name`.
std::string formatJUnit(const std::string &name, const std::vector<CaseResult> &results);
/// `{"cases": [{"kernel": …, "case": …, "how": …, "maxError": …, …}], "passed": …, "failed": …}`
std::string formatJson(const std::vector<CaseResult> &results);

/// A line on standard error that shows how far a run is; nothing where that is no terminal.
class ProgressBar {
public:
  ProgressBar();
  ~ProgressBar();
  void show(size_t done, size_t total, const std::string &name);

private:
  bool isTerminal;
};

} // namespace tkc::harness
