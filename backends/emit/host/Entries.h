// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of an emitted file: its kernels and its programs, each once.
#pragma once

#include "backends/emit/kernel/Types.h"
#include "backends/plan/PlanModule.h"
#include "backends/targets/Dialect.h"
#include "frontend/Program.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tkc::cuda {

/// Kernels of one file are in one language.
inline const Dialect &dialectOfAll(const std::vector<planner::PlannedKernel> &kernels) {
  return dialectOf(kernels.empty() ? std::string_view() : kernels.front().plan->arch);
}

/// Kernels in order of their first plan, each with all its plans.
template <class Visit> void forEachKernel(const std::vector<planner::PlannedKernel> &kernels, Visit visit) {
  std::set<const KernelInfo *> done;
  for (const planner::PlannedKernel &first : kernels) {
    if (!done.insert(first.kernel).second)
      continue;
    std::vector<const planner::PlannedKernel *> planned;
    for (const planner::PlannedKernel &other : kernels)
      if (other.kernel == first.kernel)
        planned.push_back(&other);
    visit(*first.kernel, std::move(planned));
  }
}

/// Those of `planned` that are for one GPU.
inline std::vector<const planner::PlannedKernel *>
plansFor(const arch::Description &gpu, const std::vector<const planner::PlannedKernel *> &planned) {
  std::vector<const planner::PlannedKernel *> result;
  for (const planner::PlannedKernel *kernel : planned)
    if (kernel->plan->arch == gpu.name)
      result.push_back(kernel);
  return result;
}

/// The kernels from the `begin`th on of which the cheapest is taken: all have a cost, and one specialisation. Empty
/// where the first has no cost.
inline std::vector<const planner::PlannedKernel *>
comparedFrom(const std::vector<const planner::PlannedKernel *> &kernels, size_t begin) {
  std::vector<const planner::PlannedKernel *> result;
  for (size_t i = begin;
       i < kernels.size() && kernels[i]->terms.cost && kernels[i]->specialization == kernels[begin]->specialization;
       ++i)
    result.push_back(kernels[i]);
  return result;
}

/// Programs in order, each with all its plans.
template <class Visit> void forEachProgram(const std::vector<std::unique_ptr<ProgramPlan>> &programs, Visit visit) {
  std::set<const ProgramInfo *> done;
  for (const auto &first : programs) {
    if (!done.insert(first->program).second)
      continue;
    std::vector<const ProgramPlan *> plans;
    for (const auto &other : programs)
      if (other->program == first->program)
        plans.push_back(other.get());
    visit(first->program->signature, plans);
  }
}

/// Names of the functions that launch these.
inline std::set<std::string> entriesOf(const std::vector<planner::PlannedKernel> &kernels,
                                       const std::vector<std::unique_ptr<ProgramPlan>> &programs) {
  std::set<std::string> names;
  for (const planner::PlannedKernel &kernel : kernels)
    names.insert(entryName(kernel.kernel->signature.name));
  for (const auto &program : programs)
    names.insert(entryName(program->program->signature.name));
  return names;
}

} // namespace tkc::cuda
