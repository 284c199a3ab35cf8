// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which change of one tune or schedule key the cost model expects to help a launch.
#pragma once

#include "harness/Predict.h"

#include <string>
#include <vector>

namespace tkc::harness {

struct Advice {
  std::string key;
  int64_t value = 0;
  double seconds = 0; ///< of the launch with it
};

/// The best changes, the best first, at most `most`: each alone, and each accepted by the plan verifier. Changes that
/// gain less than `least` of the time are left out. `plans.overrides` and `tunes` hold for all.
std::vector<Advice> adviseOn(const Module &module, const PredictedStep &step, const planner::PlanOptions &plans,
                             const std::map<std::string, int64_t> &tunes, const SourceManager &sources, size_t most = 3,
                             double least = 0.01);

} // namespace tkc::harness
