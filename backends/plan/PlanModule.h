// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kernel of a file, in every specialisation, from syntax to a verified plan.
#pragma once

#include "backends/targets/Description.h"
#include "frontend/Sema.h"
#include "ir/plan/Instrument.h"
#include "ir/plan/PlanIR.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tkc::planner {

/// One specialisation as tile IR.
struct ElaboratedKernel {
  const KernelInfo *kernel = nullptr;
  Specialization specialization;
  ChosenSchedule schedule;              ///< without the tunes that the function already has
  std::map<std::string, int64_t> tunes; ///< those that a schedule or `--set` says; others have their defaults
  std::string variant;                  ///< the schedule's name in emitted code, if others serve other calls
  std::unique_ptr<ir::Function> function;
};

struct PlannedKernel {
  const KernelInfo *kernel = nullptr;
  Specialization specialization;
  ScheduleTerms terms; ///< what a call has to be for this plan, if others serve other calls
  std::string variant; ///< its name among them in emitted code; else empty
  std::unique_ptr<plan::Plan> plan;
};

struct PlanOptions {
  const arch::Description *arch = nullptr;
  /// `--set`: beats every schedule. A value for a type parameter, a dim or a const leaves only its specialisations.
  ScheduleSettings overrides;
  std::vector<std::string> onlyKernels; ///< empty: all that the main file declares
  /// By programs: of imported files these are compiled as well, and where the GPU can they begin early.
  std::vector<std::string> launchedKernels;
  /// Specialisations that are not planned.
  std::function<bool(const KernelInfo &, const Specialization &)> leavesOut;
  /// Called on each function before it is planned: runs the passes. False stops.
  std::function<bool(ir::Function &)> transform;
  Instrumentation instrument = Instrumentation::None; ///< with records of what each role does when
  bool verify = true;                                 ///< false: hands out plans as they are
  /// Where a plan asks for more than there is, other values of the keys and tunes that nobody set are tried
  /// (FitPlan.h). False: that is an error at once.
  bool fit = true;
  bool forEveryCall = false; ///< without the conditions of schedules: plans serve the calls that these leave out, too
  bool inOrder = false;      ///< without the costs of schedules: of a call the first that serves it is taken
  /// Called on each plan before it is verified.
  std::function<void(plan::Plan &)> onPlanned;
  /// Told of a plan that the verifier refuses, though it asks for no more than there is: a bug in tkc. Not set:
  /// reported as any other violation.
  std::function<void(const plan::Plan &, const plan::Violation &)> onUnsound;
};

/// The tile IR of one specialisation of a kernel, with the tunes and keys that `overrides` and the file's schedules
/// say: once for each schedule that may serve a call, in their order. Nothing after errors were reported.
std::vector<ElaboratedKernel> elaborateSpecialization(const Module &module, const KernelInfo &kernel,
                                                      const Specialization &specialization, const PlanOptions &options,
                                                      DiagnosticEngine &diagnostics);
/// `kernel` once more, with other tunes than it had. Null after reporting why that cannot be.
std::unique_ptr<ir::Function> elaborateWith(const Module &module, const ElaboratedKernel &kernel,
                                            const std::map<std::string, int64_t> &tunes, DiagnosticEngine &diagnostics);
/// From a specialisation as far as the plans.
std::vector<PlannedKernel> planSpecialization(const Module &module, const KernelInfo &kernel,
                                              const Specialization &specialization, const PlanOptions &options,
                                              DiagnosticEngine &diagnostics);

/// Every specialisation of the kernels that the main file declares; those with errors are reported and left out.
std::vector<ElaboratedKernel> elaborateModule(const Module &module, const PlanOptions &options,
                                              DiagnosticEngine &diagnostics);

/// Reports what cannot be planned, and plans that the verifier refuses, and leaves them out.
std::vector<PlannedKernel> planModule(const Module &module, const PlanOptions &options, DiagnosticEngine &diagnostics);

} // namespace tkc::planner
