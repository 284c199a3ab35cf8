// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers: who waits, who comes, and when a phase is over.
#include "backends/cost/Simulator.h"
#include "ir/plan/Turns.h"

#include <algorithm>

namespace tkc::cost {

using plan::Stmt;

namespace {

/// Clocks from an arrival to the waiter's next instruction.
constexpr double wakeClocks = 24;

} // namespace

Simulator::Phases &Simulator::phasesOf(const Process &process, const Node &node) {
  const plan::Barrier &barrier = plan.barriers[static_cast<size_t>(node.barrier)];
  const int64_t instance = barrier.instances > 1 ? process.instance : 0;
  const int64_t stage = node.cursor < 0 ? 0 : process.cursors[static_cast<size_t>(node.cursor)].stage;
  const size_t number = barrierBase[static_cast<size_t>(node.barrier)] +
                        static_cast<size_t>(instance * barrier.stages + std::min<int64_t>(stage, barrier.stages - 1));
  return barriers[static_cast<size_t>(process.slot)][number];
}

bool Simulator::wait(Process &process, const Node &node) {
  Phases &phases = phasesOf(process, node);
  const int64_t round = node.cursor < 0 ? 0 : process.cursors[static_cast<size_t>(node.cursor)].round;
  const int64_t wanted = node.stmt->as<plan::Wait>().inverted ? round - 1 : round;
  if (wanted >= phases.over) {
    phases.waiters.push_back(numberOf(process));
    process.blocked = true;
    return false;
  }
  if (wanted >= 0) {
    const double end = wanted == phases.over - 1 ? phases.lastEnd : phases.endBefore;
    if (end > process.now)
      waitUntil(process, end + clocks(wakeClocks), "wait " + node.stmt->barrier()->barrier, *node.stmt);
  }
  process.now += clocks(process.role->oneThread ? issueClocks : dependentClocks);
  return true;
}

void Simulator::expect(Process &process, const Node &node) {
  const auto &stmt = node.stmt->as<plan::Expect>();
  process.now += clocks(issueClocks);
  phasesOf(process, node).bytesToCome +=
      static_cast<double>(stmt.bytes) * (stmt.toFirst ? plan.cluster : 1) - copyOwn(process);
  arrive(process, node,
         node.stmt->one || process.role->oneThread ? (stmt.toFirst ? plan.cluster : 1)
                                                   : plan.findBarrier(stmt.at.barrier)->arrivals,
         process.now);
}

void Simulator::arrive(const Process &process, const Node &node, int count, double at) {
  phasesOf(process, node).arrivals += count;
  deliver(process, node, 0, at);
}

void Simulator::deliver(const Process &process, const Node &node, double bytes, double at) {
  Phases &phases = phasesOf(process, node);
  const plan::Barrier &barrier = plan.barriers[static_cast<size_t>(node.barrier)];
  phases.bytesToCome -= bytes;
  phases.latest = std::max(phases.latest, at);
  if (phases.arrivals < barrier.arrivals || phases.bytesToCome > 0.5)
    return;
  ++phases.over;
  phases.endBefore = phases.lastEnd;
  phases.lastEnd = phases.latest;
  phases.arrivals -= barrier.arrivals;
  phases.bytesToCome = 0;
  phases.latest = 0;
  for (size_t waiter : phases.waiters)
    processes[waiter].blocked = false;
  phases.waiters.clear();
}

bool Simulator::meet(Process &process, const Stmt &stmt) {
  const int own = process.role->role->warps * process.role->role->lanes;
  const plan::NamedBarrier barrier = *plan::namedBarrier(stmt);
  if (barrier.threads <= own) {
    process.now += clocks(syncClocks);
    return true;
  }
  Meeting &meeting = meetings[{process.slot, barrier.id}];
  meeting.threads += own;
  meeting.latest = std::max(meeting.latest, process.now);
  if (meeting.threads < barrier.threads) {
    meeting.waiters.push_back(numberOf(process));
    process.blocked = true;
    return false;
  }
  const double end = meeting.latest + clocks(syncClocks);
  for (size_t waiter : meeting.waiters) {
    Process &other = processes[waiter];
    waitUntil(other, end, "wait block", stmt);
    other.blocked = false;
    ++other.frames.back().at; // it had come to this statement, and is past it
  }
  waitUntil(process, end, "wait block", stmt);
  meeting = {};
  return true;
}

void Simulator::advanceCursor(Process &process, const Node &node) {
  Process::Cursor &cursor = process.cursors[static_cast<size_t>(node.cursor)];
  for (int left = plan::stagesBy(node.stmt->as<plan::Advance>(), process.instance); left > 0; --left)
    if (++cursor.stage >= node.ringStages)
      cursor = {0, cursor.round + 1};
}

} // namespace tkc::cost
