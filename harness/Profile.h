// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what instrumented kernels recorded to a timeline. Two texts are needed: the events of a case, written with its
// program, and the trace that the program left (tk/host/profile.h).
#pragma once

#include "backends/plan/PlanModule.h"
#include "support/Timeline.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tkc {
class SourceManager;
}

namespace tkc::harness {

/// What the records of these kernels mean, as JSON; lines are those of the buffer `file`, which goes along.
std::string describeEvents(const std::string &title, const std::vector<planner::PlannedKernel> &kernels,
                           const SourceManager &sources, uint32_t file);

struct Profile {
  timeline::Timeline timeline; ///< one side, "measured"
  bool isTimed = false;        ///< else what follows is 0
  double plainSeconds = 0, instrumentedSeconds = 0;
  /// Of the instrumented call over the plain one: median, first and last tenth; where chosen blocks record, where all.
  std::array<double, 3> ratio{}, ratioOfAll{};
};
/// Nothing, and `error` says why, where these are no such texts or do not belong together.
std::optional<Profile> readProfile(std::string_view events, std::string_view trace, std::string &error);

} // namespace tkc::harness
