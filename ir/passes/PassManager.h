// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ir/passes/Passes.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tkc::ir {

struct PassOptions {
  std::set<std::string> printAfter; ///< names of passes, or "all"
  std::string stopAfter;            ///< its first run is the last pass; empty: none
  bool verifyEach = false;
};

/// What a run of passes has to say. The caller prints.
struct PassReport {
  /// The IR after each pass of `printAfter`, under a line that names the pass; a pass that changed nothing says so.
  std::string printed;
  struct Time {
    std::string_view pass;
    double milliseconds;
  };
  std::vector<Time> times; ///< one entry a run
  /// The first broken rule after a pass: a bug of ours. The passes after it did not run.
  std::optional<std::string> internalError;
  std::string brokenBy; ///< then: the pass
  std::string before;   ///< and the IR that it was given
};

/// Runs `passes` in order.
PassReport runPasses(Function &function, const std::vector<const PassInfo *> &passes, const PassOptions &options);

/// A table of `times`, summed by pass in order of first run, for --time-passes.
std::string formatTimes(const std::vector<PassReport::Time> &times);

} // namespace tkc::ir
