// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules of one specialisation, planned and emitted. What cannot be planned, does not fit, or is refused by the
// verifier says why, and is never built.
#pragma once

#include "harness/tune/Work.h"

#include <map>
#include <string>

namespace tkc {
class SourceManager;
}
namespace tkc::plan {
struct Plan;
}

namespace tkc::tune {

/// 16 hexadecimal digits.
std::string contentHash(std::string_view text);

struct Candidate {
  Settings settings;
  std::string refusal;                  ///< why it has no plan; empty: it has one
  const Candidate *sameAs = nullptr;    ///< the first that had this plan
  std::vector<double> predictedSeconds; ///< of each shape, where it has a plan of its own
};

class Candidates {
public:
  Candidates(const Module &module, const Work &work, planner::PlanOptions plans, const SourceManager &sources);

  /// Planned when first asked for.
  const Candidate &plan(const Settings &settings);
  /// How many were asked for.
  size_t numPlanned() const { return known.size(); }

  /// One file of CUDA with `tk_candidate`, which includes the runtime's headers.
  std::string emit(const Settings &settings);
  /// The same with the schedules that the file has, each for its calls.
  std::string emitDefault();

  /// What names emitted code in logs and files: its contents, the runtime's headers included, comments left out.
  static std::string codeOf(const std::string &emitted, const arch::Description &target);

private:
  std::vector<planner::PlannedKernel> planWith(const Settings &settings, DiagnosticEngine &diagnostics);
  std::string emit(const std::vector<planner::PlannedKernel> &kernels) const;

  const Module &module;
  const Work &work;
  planner::PlanOptions plans;
  const SourceManager &sources;
  std::map<Settings, Candidate> known;
  std::map<std::string, const Candidate *> byPlan;
};

} // namespace tkc::tune
