// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long a case will take on a GPU: its launches planned, each by the schedule that serves the call, and estimated by
// the cost model. What `tkc explain` prints, and what candidates of a search are ranked by.
#pragma once

#include "backends/cost/Cost.h"
#include "backends/plan/PlanModule.h"
#include "harness/Cases.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tkc::harness {

/// A launch of a kernel, or a fill of a program's workspace.
struct PredictedStep {
  std::string name;                 ///< of the kernel; of a fill, what is filled
  std::unique_ptr<plan::Plan> plan; ///< null: a fill
  cost::CallShape call;
  cost::Estimate estimate;
  const KernelInfo *kernel = nullptr;
  Specialization specialization;
};

struct Prediction {
  std::vector<PredictedStep> steps{};
  double seconds = 0;    ///< of all steps, one after the other
  double operations = 0; ///< of products, over the elements that exist
  double bytes = 0;      ///< of the tensors, each read once or written once

  double tflops() const { return seconds > 0 ? operations / seconds / 1e12 : 0; }
  double gbytes() const { return seconds > 0 ? bytes / seconds / 1e9 : 0; }
};

/// What the cost model asks of a call.
cost::CallShape shapeOf(const CallArguments &arguments);

struct PredictOptions {
  bool counts = true;     ///< operations and bytes, for rates
  bool timeline = false;  ///< cost::Options::timeline
  bool dirtyCache = true; ///< cost::Options::dirtyCache
};

/// Nothing after errors were reported. Tunes and keys of `plans.overrides` are taken by the kernels that have them.
std::optional<Prediction> predict(const Module &module, const Subject &subject, const PreparedCase &prepared,
                                  const planner::PlanOptions &plans, const PredictOptions &options,
                                  DiagnosticEngine &diagnostics);

/// Which of `planned` launchers take for a call of these dims, scalars and alignments, whose tensors have this shape.
std::optional<size_t> takenOf(const std::vector<planner::PlannedKernel> &planned, const Specialization &specialization,
                              const CallArguments &call, const cost::CallShape &shape);

/// The part of `plans` that concerns a kernel: a tune or schedule key of another is none of its.
planner::PlanOptions optionsFor(const KernelInfo &kernel, const planner::PlanOptions &plans,
                                const std::map<std::string, int64_t> &tunes);

} // namespace tkc::harness
