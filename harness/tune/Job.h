// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder with all that it takes to measure candidates: their sources, the cases, the runner, the runtime's headers
// and a script that builds and runs them, on this machine or another.
#pragma once

#include "harness/tune/Search.h"

#include <map>
#include <string>
#include <vector>

namespace tkc::tune {

/// What is to be measured of one specialisation.
struct Batch {
  const Search *search;
  std::vector<const Built *> candidates;
};

struct Job {
  std::map<std::string, std::string> files; ///< by path in the folder
  std::vector<std::string> codes;           ///< CODE.cu becomes CODE.so
  size_t numLines = 0;                      ///< that the runner will add to the log at most
};

/// Names in a job's folder.
inline constexpr const char *jobFile = "job", *runnerSource = "runner.cu", *runnerProgram = "runner",
                            *logFile = "tune.jsonl", *scriptFile = "run.sh";

Job makeJob(const std::vector<Batch> &batches, const arch::Description &target);

/// Of nvcc, beside `-o OUT FILE`. Paths are relative to the folder.
std::vector<std::string> compilerFlags(const arch::Description &target);
/// The further ones of a candidate, and of the runner.
std::vector<std::string> candidateFlags();
std::vector<std::string> runnerFlags();

} // namespace tkc::tune
