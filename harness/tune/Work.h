// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What there is to tune: the specialisations that the calls of a file's `bench` declarations need, each with these
// calls and with cases that check whatever is timed.
#pragma once

#include "backends/plan/PlanModule.h"
#include "harness/Cases.h"
#include "harness/tune/Space.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tkc::tune {

/// A call to be timed.
struct Shape {
  harness::PreparedCase prepared;
  std::string encoded; ///< as a file of the runner; with what should come out where that is quick to say
  double operations = 0, bytes = 0;
  double roundoff = 0; ///< of what the kernel rounds on its way, and of its sums
};

struct Check {
  std::string description, encoded;
};

struct Work {
  const KernelInfo *kernel = nullptr;
  KernelInfo bare; ///< the kernel without its schedules
  Specialization specialization;
  Settings defaults; ///< of the tunes
  std::vector<std::string> tuneOrder;
  Settings fixed;               ///< set for all candidates, and not searched
  std::vector<Settings> starts; ///< what the file's schedules for this GPU set, nothing first where nothing serves all
  std::vector<Shape> shapes;
  std::vector<Check> checks;
  std::string trouble; ///< why it cannot be tuned

  /// "gemm bf16"
  std::string name() const;
  std::string describe(const Settings &settings) const { return tune::describe(settings, tuneOrder); }
};

struct WorkOptions {
  std::vector<std::map<std::string, double>> sizes; ///< each: dims, constants and scalars that beat what benches say
  std::vector<std::map<std::string, std::string>> types; ///< beside `sizes`: which type parameters are meant
  Settings fixed;
  std::string filter;               ///< only kernels whose name contains it
  std::vector<std::string> kernels; ///< and only these; empty: all
  uint64_t seed = 0;
  bool encode = true; ///< false: there will be no runner, so nothing is made for it
};

/// What cannot be tuned has its trouble said; errors in what the file says are reported.
std::vector<std::unique_ptr<Work>> findWork(const Module &module, const planner::PlanOptions &plans,
                                            const WorkOptions &options, DiagnosticEngine &diagnostics);

} // namespace tkc::tune
