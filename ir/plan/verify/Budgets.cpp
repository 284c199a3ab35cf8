// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace tkc::plan {
namespace {

void sharedMemory(const Plan &plan, const Budget &budget, Report &report) {
  std::vector<std::string> parts;
  int64_t end = 0;
  for (const Buffer &buffer : plan.buffers) {
    end = std::max(end, buffer.offset + buffer.totalBytes());
    if (buffer.aliasOf.empty())
      parts.push_back(buffer.stages == 1 ? fmt::format("{}: {}", buffer.name, buffer.stageBytes())
                                         : fmt::format("{}: {} × {}", buffer.name, buffer.stages, buffer.stageBytes()));
  }
  int64_t barriers = 0;
  for (const Barrier &barrier : plan.barriers)
    barriers += 8 * barrier.stages * barrier.instances;
  if (barriers > 0)
    parts.push_back(fmt::format("barriers: {}", barriers));
  if (int64_t needed = std::max(end + barriers, plan.sharedBytes); needed > budget.sharedBytes)
    report.addOverBudget(plan.loc, fmt::format("needs {} bytes of shared memory ({}), {} has {}", needed,
                                               fmt::join(parts, ", "), plan.arch, budget.sharedBytes));
  else if (end + barriers > plan.sharedBytes)
    report.addOverBudget(plan.loc, fmt::format("asks for {} bytes of shared memory and uses {} ({})", plan.sharedBytes,
                                               end + barriers, fmt::join(parts, ", ")));
}

/// setmaxnreg moves registers from the warpgroups that give to those that take: PTX ISA, "setmaxnreg".
void warpgroupRegisters(const Plan &plan, const Budget &budget, Report &report) {
  int warpgroups = plan.threads / 128;
  std::map<int, const Role *> roleOf; // by warpgroup
  bool any = false;
  for (const Role &role : plan.roles) {
    any |= role.registers != 0;
    if (role.registers != 0 && (role.registers % 8 != 0 || role.registers < 24 || role.registers > 256))
      report.addOverBudget(
          plan.loc, fmt::format("role `{}` sets {} registers a thread: setmaxnreg takes multiples of 8 in 24..256",
                                role.name, role.registers));
    const int end = role.firstWarp + role.totalWarps();
    const auto isShared = [&](int warp) { // by roles that set the same
      return std::any_of(plan.roles.begin(), plan.roles.end(), [&](const Role &other) {
        return &other != &role && other.firstWarp <= warp && warp < other.firstWarp + other.totalWarps();
      });
    };
    if (role.registers != 0 && role.firstWarp % 4 != 0 && !isShared(role.firstWarp - 1))
      report.addOverBudget(
          plan.loc, fmt::format("role `{}` sets its registers from warp {} on: setmaxnreg is for whole warpgroups",
                                role.name, role.firstWarp));
    for (int group = role.firstWarp / 4; group * 4 < end; ++group) {
      const Role *&other = roleOf[group];
      if (other && other->registers != role.registers)
        report.addOverBudget(plan.loc, fmt::format("roles `{}` and `{}` share warpgroup {} and set {} and {} registers",
                                                   other->name, role.name, group, other->registers, role.registers));
      other = &role;
    }
  }
  if (!any || !report.empty())
    return;
  if (plan.threads % 128 != 0) {
    report.addOverBudget(plan.loc, fmt::format("{} threads: setmaxnreg is for whole warpgroups of 128", plan.threads));
    return;
  }
  int atLaunch = std::min(budget.registersPerBlock / plan.threads / 8 * 8, 248), sum = 0;
  std::vector<std::string> parts;
  for (int group = 0; group < warpgroups; ++group) {
    auto found = roleOf.find(group);
    int registers = found != roleOf.end() && found->second->registers != 0 ? found->second->registers : atLaunch;
    parts.push_back(std::to_string(registers));
    sum += registers;
  }
  if (sum > atLaunch * warpgroups)
    report.addOverBudget(
        plan.loc, fmt::format("warpgroups set {} registers a thread, {} in all: {} warpgroups launch with {} each, "
                              "{} in all",
                              fmt::join(parts, " + "), sum, warpgroups, atLaunch, atLaunch * warpgroups));
}

void namedBarriers(const Plan &plan, const Budget &budget, Report &report) {
  for (const Role &role : plan.roles)
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) {
        const std::optional<NamedBarrier> barrier = namedBarrier(stmt);
        if (!barrier)
          return;
        const int last = barrier->id + (barrier->threads < threadsOf(role) ? role.instances - 1 : 0);
        const bool isWholeBlock = barrier->id == 0 && barrier->threads == plan.threads;
        if (!isWholeBlock && (barrier->id < 1 || last >= budget.namedBarriers))
          report.addOverBudget(stmt.loc,
                               fmt::format("`{}`: named barriers {}..{}, {} has 1..{} (0 is for the whole block)",
                                           print(stmt), barrier->id, last, plan.arch, budget.namedBarriers - 1));
      });
}

} // namespace

void checkBudgets(const Plan &plan, const Budget &budget, Report &report) {
  sharedMemory(plan, budget, report);
  if (plan.threads > budget.maxThreads || plan.threads < 32 || plan.threads % 32 != 0)
    report.addOverBudget(plan.loc,
                         fmt::format("{} threads a block: whole warps, at most {}", plan.threads, budget.maxThreads));
  else
    warpgroupRegisters(plan, budget, report);
  namedBarriers(plan, budget, report);
  // Kernel parameters are 4 KiB; a tensor map is 128 bytes of them.
  size_t maps = plan.maps.size(), most = 4096 / 128 - 4;
  if (maps > most)
    report.addOverBudget(plan.loc,
                         fmt::format("{} tensor maps: at most {} fit beside the other kernel parameters", maps, most));
}

} // namespace tkc::plan
