// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel whose plan asks for more than the GPU has is planned again with other values of what nobody set: keys of
// the schedule, then smaller tunes. The first plan that fits is taken and says what was changed; where none fits, the
// error says what does not, of which specialisation, and what would if the user set it.
#pragma once

#include "backends/plan/PlanModule.h"
#include "support/Diagnostics.h"

#include <functional>
#include <optional>

namespace tkc::planner {

/// Plans the kernel as it stands; null after reporting why not. What was planned, and asks for more than there is, does
/// so by `lacks` (plan::excess).
using PlanOnce = std::function<std::unique_ptr<plan::Plan>(ElaboratedKernel &, const PlanOptions &, DiagnosticEngine &,
                                                           std::optional<double> &lacks)>;

/// What is refused of a file. Specialisations of a kernel that are refused for one reason are told of as one, and other
/// keys and tunes are tried for the first of them.
class Refusals {
public:
  /// Takes what was said of a specialisation if another one was refused in the same words.
  bool join(const ElaboratedKernel &kernel, const std::vector<Diagnostic> &said);
  void add(const ElaboratedKernel &kernel, std::vector<Diagnostic> said, std::string advice);
  /// What no other keys or tunes could help.
  void addAsSaid(const ElaboratedKernel &kernel, std::vector<Diagnostic> said);
  /// Whether so many reasons are known for the kernel that more of them help nobody.
  bool areEnough(const KernelInfo &kernel) const;
  void report(DiagnosticEngine &diagnostics) const;

private:
  struct Refusal {
    const KernelInfo *kernel;
    std::vector<Diagnostic> said;
    std::string advice;
    std::vector<std::string> specializations; ///< "T = bf16, D = 128, no `bias`"
  };
  std::vector<Refusal> all;
};

/// With `planOnce`, as often as it takes. `kernel` has a function that is spent afterwards. Null after adding why not.
std::unique_ptr<plan::Plan> planToFit(const Module &module, ElaboratedKernel &kernel, const PlanOptions &options,
                                      const PlanOnce &planOnce, const SourceManager &sources, Refusals &refusals);

} // namespace tkc::planner
