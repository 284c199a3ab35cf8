// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the cases of a module on the interpreter and compares with their references.
#pragma once

#include "frontend/Sema.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tkc::harness {

struct CaseResult {
  std::string kernel;
  std::string description; ///< of the case: "T=bf16 M=256 N=512 K=192"
  std::string how;         ///< "interpreter", …
  double maxError = 0;     ///< of the element nearest to its tolerance, or farthest beyond
  double tolerance = 0;    ///< of that element
  double seconds = 0;      ///< of the kernel alone
  bool passed = false;
  std::string message; ///< why not, or what to know
};

struct RunOptions {
  uint64_t seed = 0;                      ///< makes the default inputs
  std::string filter;                     ///< only kernels whose name contains it
  size_t sampleFirst = 0, sampleStep = 1; ///< of each kernel's cases only every `sampleStep`th, at least one
  std::optional<size_t> onlyCase;         ///< of each kernel's cases this number only
  std::map<std::string, int64_t> tunes;
  std::map<std::string, double> sizes; ///< when timing: dims, constants and scalars that beat what cases say
  /// Applied to each function before it runs: the passes, when it is them that are tested.
  std::function<void(ir::Function &)> transform = [](ir::Function &) {};
  bool padded = false; ///< ir::InterpretOptions::padded
  bool weak = false;   ///< takes cases that zeros would pass, as random kernels have them
  /// Called before each case: how many are done, of how many, and the kernel's name.
  std::function<void(size_t, size_t, const std::string &)> onProgress = [](size_t, size_t, const std::string &) {};

  bool takesAllCases() const { return filter.empty() && sampleStep == 1 && !onlyCase; }

  /// Whether the case at `index`, of a kernel with `count`, is to run.
  bool takesCase(size_t index, size_t count) const;
};

/// Errors in what a case says are reported, and fail the case.
std::vector<CaseResult> runCases(const Module &module, const RunOptions &options, DiagnosticEngine &diagnostics);

} // namespace tkc::harness
