// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program that runs a file's cases on a GPU: emitted kernels, their launchers, a call for each case, and the cases
// as files beside it.
#pragma once

#include "backends/plan/PlanModule.h"
#include "harness/Cases.h"
#include "harness/RunCases.h"

#include <map>
#include <string>
#include <vector>

namespace tkc {
class SourceManager;
}

namespace tkc::harness {

struct GpuProgram {
  std::string source;                       ///< a .cu file that includes nothing of tkc's
  std::map<std::string, std::string> files; ///< what it reads, by name
  std::vector<CaseResult> cases;            ///< in the order of their numbers; not run yet
  std::vector<double> bytes, operations;    ///< of each case's call; when testing, operations of whole instructions
  bool runs = false;                        ///< some case; else all have failed before, each with its message
};

/// What the program does with a case.
enum class GpuPurpose : uint8_t {
  Test,  ///< compares with the reference
  Bench, ///< times it, and counts what it does; there is no reference to wait for
  /// Runs one case plain and instrumented; writes down what the roles of its kernels do when. The same of a `bench`.
  ProfileCase,
  ProfileBench,
};
constexpr bool isProfile(GpuPurpose purpose) {
  return purpose == GpuPurpose::ProfileCase || purpose == GpuPurpose::ProfileBench;
}
/// Whether inputs are made on the GPU, and results have no reference.
constexpr bool isBench(GpuPurpose purpose) {
  return purpose == GpuPurpose::Bench || purpose == GpuPurpose::ProfileBench;
}

/// Only the specialisations that cases need are compiled in; to be profiled is the first case that the options take. Of
/// that, `files` has "0.events": what its kernels' records mean, for readProfile. Errors are reported; their cases have
/// failed already and are not in the program.
GpuProgram makeGpuProgram(const Module &module, const planner::PlanOptions &plans, const RunOptions &options,
                          GpuPurpose purpose, const SourceManager &sources, DiagnosticEngine &diagnostics);

/// Takes the lines that the program printed into the cases. One that it began and did not finish fails with
/// `otherwise`; those that it did not reach stay as they are. Returns whether it began any.
bool readResults(std::string_view output, const std::string &otherwise, std::vector<CaseResult> &cases);

} // namespace tkc::harness
