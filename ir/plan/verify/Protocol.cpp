// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each choice of inputs: the events of every role, then the order that they are sure to have (Order.h), then the
// registers of products in flight (Flight.cpp).
#include "ir/plan/verify/Order.h"
#include "ir/plan/verify/Sizes.h"

#include <fmt/format.h>

namespace tkc::plan {
namespace {

constexpr size_t stepsPerRole = 20000;
/// Events times processes, barriers and slots: about a second.
constexpr size_t workInAll = 1000000000;

/// The warps that stand for all: of each instance the one with the elected thread, and one for the others.
/// `traces`: those of all roles for each block.
std::vector<Process> processesOf(const std::vector<RoleSummary> &roles, const std::vector<Trace> &traces) {
  std::vector<Process> processes;
  int engine = 0, block = 0;
  for (size_t t = 0; t < traces.size(); ++block)
    for (const RoleSummary &summary : roles) {
      const Role &role = summary.role;
      for (int instance = 0; instance < role.processes(); ++instance, ++engine) {
        const Trace *own = &traces[t + static_cast<size_t>(summary.instancesDiffer ? instance : 0)];
        processes.push_back({&role, own, block, instance, engine, true, role.lanes, summary.oneThread});
        if (role.warps > 1 && !summary.oneThread)
          processes.push_back({&role, own, block, instance, engine, false, role.lanes * (role.warps - 1), false});
      }
      t += static_cast<size_t>(summary.instancesDiffer ? role.instances : 1);
    }
  return processes;
}

/// Traces of all roles for each block of the cluster, one for all instances or, where they differ, for each;
/// nothing where one is too long, which is reported.
std::optional<std::vector<Trace>> tracesOf(const Plan &plan, const std::vector<RoleSummary> &roles,
                                           const Numbering &numbering, const Inputs &inputs, Report &report,
                                           Facts *facts) {
  std::vector<Trace> traces;
  for (int block = 0; block < plan.cluster; ++block) {
    std::vector<Tile> tiles = chooseTiles(plan, inputs, block);
    for (const RoleSummary &role : roles)
      for (int instance = 0; instance < (role.instancesDiffer ? role.role.instances : 1); ++instance) {
        std::optional<Trace> events = trace(plan, role, numbering, inputs, tiles, instance, stepsPerRole, facts);
        if (!events) {
          report.addOverBudget(plan.loc, fmt::format("role `{}` runs more than {} statements for three tiles of the "
                                                     "grid, too many to check{}",
                                                     role.role.name, stepsPerRole, describe(plan, inputs)));
          return std::nullopt;
        }
        checkFlight(role.role, *events, report);
        traces.push_back(std::move(*events));
      }
  }
  return traces;
}

} // namespace

void checkProtocol(const Plan &plan, Report &report, Facts *facts) {
  Numbering numbering(plan);
  std::vector<RoleSummary> roles;
  for (const Role &role : plan.roles)
    roles.emplace_back(plan, role);
  size_t work = 0;
  for (const Inputs &inputs : chooseInputs(plan)) {
    std::optional<std::vector<Trace>> traces = tracesOf(plan, roles, numbering, inputs, report, facts);
    if (!traces)
      return;
    std::vector<Process> processes = processesOf(roles, *traces);
    for (const Process &process : processes)
      work += process.trace->size() * (processes.size() + numbering.barriers.size() + numbering.slots.size());
    if (work > workInAll) {
      report.addOverBudget(plan.loc,
                           fmt::format("{} processes with {} barrier stages and {} buffer stages are too many to check",
                                       processes.size(), numbering.barriers.size(), numbering.slots.size()));
      return;
    }
    checkOrder(plan, numbering, processes, describe(plan, inputs), report, facts);
    if (!report.empty()) // other inputs would tell the same story again with other numbers
      return;
  }
}

} // namespace tkc::plan
