// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "harness/GpuProgram.h"

#include <functional>
#include <string>
#include <vector>

namespace tkc::driver {

class Session;

struct GpuTestOptions {
  harness::GpuPurpose purpose = harness::GpuPurpose::Test;
  std::string arch = "sm_90a"; ///< as the command line names them, one or more
  std::string folder;          ///< of the program; empty: one that is removed afterwards
  bool buildOnly = false;      ///< FOLDER/run then does the tests, on any machine with the GPU
  bool emulate = false;        ///< on the CPU, by tkc-emulate
  uint64_t order = 0;          ///< of emulated threads and copies: see `tkc-emulate --seed`
  bool captured = false;       ///< emulated launches do as in graphs: `tkc-emulate --captured`
  std::vector<int> blocks;     ///< when profiling, to record; empty: some
  int records = 8192;          ///< that each warp keeps then
  bool everyWait = false;      ///< planner::Instrumentation::EveryWait
  std::string counts;          ///< file for what `tkc-emulate --counts` writes, and the cases' own multiply-adds
};

struct GpuResults {
  const arch::Description *target = nullptr;
  std::vector<harness::CaseResult> cases;
  std::vector<double> bytes, operations; ///< of each case, when timing
  std::string events, trace;             ///< when profiling; see harness::readProfile
};

/// For each GPU in turn: writes the program of a module's cases, builds it with nvcc and runs it, or has it emulated,
/// and hands on what came out; with a heading where there are several, whose programs stand in folders of their names.
/// Returns what went wrong other than a case, which was said.
int runOnGpus(const Module &module, const GpuTestOptions &gpu, const harness::RunOptions &options, Session &session,
              const std::function<void(const GpuResults &)> &onResults);

} // namespace tkc::driver
