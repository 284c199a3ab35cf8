// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each choice of inputs: the events of every role, then the order that they are sure to have (Order.h), then the
// registers of products in flight (Flight.cpp).
#include "ir/plan/verify/Order.h"
#include "ir/plan/verify/RoleSummary.h"
#include "ir/plan/verify/Sizes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/core.h>
#include <optional>
#include <unordered_set>

namespace tkc::plan {
namespace {

/// Statements of all roles in one run, beyond which its loops are made shorter; and to make sure that what is found
/// then is not due to that.
constexpr size_t stepsInRun = 4000, stepsToMakeSure = 400000;
/// Statements in all runs after which those suffice that give all dims as many tiles.
constexpr size_t stepsInAll = 200000;

/// What all roles do, for each block of the cluster: a list for all instances of a role or, where they differ, for
/// each.
using RunEvents = std::vector<std::vector<Event>>;

struct RunTraces {
  RunEvents events;
  std::vector<BoxStart> boxes;
};

struct HashOfEvents {
  size_t operator()(const RunEvents &run) const {
    uint64_t hash = run.size();
    for (const std::vector<Event> &events : run)
      for (const Event &event : events)
        for (const uint64_t part : {reinterpret_cast<uint64_t>(event.stmt), static_cast<uint64_t>(event.barrier),
                                    static_cast<uint64_t>(event.a.step), static_cast<uint64_t>(event.b.step)})
          hash = mix(hash, part);
    return hash;
  }
};

/// The warps that stand for all: of each instance the one with the elected thread, and one for the others.
std::vector<Process> processesOf(const std::vector<RoleSummary> &roles, const RunEvents &events) {
  std::vector<Process> processes;
  int engine = 0, block = 0;
  for (size_t t = 0; t < events.size(); ++block)
    for (const RoleSummary &summary : roles) {
      const Role &role = summary.role;
      for (int instance = 0; instance < role.processes(); ++instance, ++engine) {
        const std::vector<Event> *own = &events[t + static_cast<size_t>(summary.instancesDiffer ? instance : 0)];
        processes.push_back({&role, own, block, instance, engine, true, role.lanes, summary.oneThread});
        if (role.warps > 1 && !summary.oneThread)
          processes.push_back({&role, own, block, instance, engine, false, role.lanes * (role.warps - 1), false});
      }
      t += static_cast<size_t>(summary.instancesDiffer ? role.instances : 1);
    }
  return processes;
}

class Runs {
public:
  Runs(const Plan &plan, const Budget &budget, Report &report, Facts *facts)
      : plan(plan), budget(budget), numbering(plan), report(report), facts(facts) {
    for (const Role &role : plan.roles)
      roles.emplace_back(plan, role, numbering);
  }

  void run() {
    const size_t count = inputsOf(Effort::All).size();
    for (size_t number = 0; number < count && report.empty(); ++number) // others would tell the same story again
      if (number < numEven || steps < stepsInAll)
        run(number);
  }

private:
  const std::vector<Inputs> &inputsOf(Effort effort) {
    std::vector<Inputs> &all = inputs[static_cast<size_t>(effort)];
    if (all.empty())
      all = chooseInputs(plan, effort);
    return all;
  }

  void run(size_t number) {
    std::optional<RunTraces> traces;
    // What was too long for the last run may be so for this one, but need not.
    const bool triesMore = last != Effort::All && number % 3 == 0;
    for (int effort = static_cast<int>(last) - (triesMore ? 1 : 0);; ++effort) {
      last = static_cast<Effort>(effort);
      const Inputs &chosen = inputsOf(last)[number];
      traces = tracesOf(chosen, last == Effort::OneTrip ? SIZE_MAX : stepsInRun);
      if (!traces)
        continue;
      Report found;
      checkPlaces(*traces, chosen, found);
      const auto [events, isNew] = sound.insert(std::move(traces->events));
      if (isNew) // most sizes make roles do what others did
        checkEvents(*events, chosen, found);
      if (found.empty())
        return;
      sound.erase(events);
      return last < Effort::SomeTrips ? report.addAll(found) : makeSure(number, found);
    }
  }

  /// Loops that end before their bounds may not fit together, where one role goes over a range in parts: what is found
  /// counts if a run to the bounds finds something, too, or is too long for any inputs.
  void makeSure(size_t number, Report &found) {
    for (Effort effort : {Effort::All, Effort::SmallTiles, Effort::FewLong}) {
      const Inputs &chosen = inputsOf(effort)[number];
      if (const std::optional<RunTraces> traces = tracesOf(chosen, stepsToMakeSure)) {
        checkPlaces(*traces, chosen, report);
        return checkEvents(traces->events, chosen, report);
      }
    }
    report.addAll(found);
  }

  /// Nothing where there are more than `most` statements.
  std::optional<RunTraces> tracesOf(const Inputs &chosen, size_t most) {
    RunTraces traces;
    size_t left = most;
    quotients = {nullptr, isPromised(chosen)};
    bool fits = true;
    for (int block = 0; block < plan.cluster && fits; ++block) {
      const std::vector<Tile> tiles = chooseTiles(plan, chosen, block);
      for (const RoleSummary &role : roles)
        for (int instance = 0; instance < (role.instancesDiffer ? role.role.instances : 1) && fits; ++instance) {
          std::optional<Trace> one = trace(plan, role, chosen, tiles, instance, left, quotients, facts);
          fits = one.has_value();
          if (!fits)
            break;
          traces.events.push_back(std::move(one->events));
          traces.boxes.insert(traces.boxes.end(), one->boxes.begin(), one->boxes.end());
        }
    }
    steps += fits ? most - left : 0;
    return fits ? std::optional(std::move(traces)) : std::nullopt;
  }

  /// Whether dims and scalars are as `where` says.
  bool isPromised(const Inputs &chosen) const {
    const auto sizeOf = [&](const std::string &symbol) {
      const auto found = chosen.dims.find(symbol);
      return found == chosen.dims.end() ? std::nullopt : std::optional(found->second);
    };
    const auto isWhole = [&](const auto &pair) {
      return ir::evaluate(ir::DimExpr::binary(ir::DimExpr::Mod, pair.first, pair.second), sizeOf).value_or(0) == 0;
    };
    const auto isAbove = [&](const ir::Param &param) {
      return !param.above || chosen.params.at(param.name) > static_cast<double>(*param.above);
    };
    return std::all_of(plan.multiples.begin(), plan.multiples.end(), isWhole) &&
           std::all_of(plan.params.begin(), plan.params.end(), isAbove);
  }

  /// What depends on where in tensors a run is, and on what it divides.
  void checkPlaces(const RunTraces &traces, const Inputs &chosen, Report &into) {
    checkBoxes(plan, budget, traces.boxes, chosen, into);
    if (quotients.wrong && quotients.isPromised)
      into.add(quotients.wrong->loc, fmt::format("`{}`: the divisor is not positive, or the dividend negative{}",
                                                 print(*quotients.wrong), describe(plan, chosen)));
  }

  void checkEvents(const RunEvents &events, const Inputs &chosen, Report &into) {
    size_t at = 0;
    for (int block = 0; block < plan.cluster; ++block)
      for (const RoleSummary &role : roles)
        for (int instance = 0; instance < (role.instancesDiffer ? role.role.instances : 1); ++instance, ++at)
          checkFlight(role.role, events[at], into);
    checkOrder(plan, numbering, processesOf(roles, events), describe(plan, chosen), into, facts);
  }

  const Plan &plan;
  const Budget &budget;
  const Numbering numbering;
  std::vector<RoleSummary> roles;
  std::array<std::vector<Inputs>, 6> inputs; ///< by effort
  Effort last = Effort::All;
  std::unordered_set<RunEvents, HashOfEvents> sound; ///< what runs did in which nothing was wrong
  size_t steps = 0;                                  ///< in all runs
  Quotients quotients;                               ///< of the last one
  Report &report;
  Facts *facts;
};

} // namespace

void checkProtocol(const Plan &plan, const Budget &budget, Report &report, Facts *facts) {
  Runs(plan, budget, report, facts).run();
}

} // namespace tkc::plan
