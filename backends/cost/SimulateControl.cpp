// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops, of which a few trips are run, and branches.
#include "backends/cost/Simulator.h"
#include "ir/plan/Turns.h"

#include <algorithm>

namespace tkc::cost {

using plan::Stmt;

void Tally::repeat(const Tally &then, double times) {
  for (size_t i = 0; i < numUnits; ++i)
    busy[i] += (busy[i] - then.busy[i]) * times;
  macs += (macs - then.macs) * times;
  waiting += (waiting - then.waiting) * times;
  l2Bytes += (l2Bytes - then.l2Bytes) * times;
  reading += (reading - then.reading) * times;
}

void Simulator::enterLoop(Process &process, const Node &node) {
  const Stmt &stmt = *node.stmt;
  Frame frame(node.body);
  frame.loop = &node;
  frame.lo = plan::toInteger(process.scalars->get(stmt.operands[0]).value);
  frame.hi = plan::toInteger(process.scalars->get(stmt.operands[1]).value);
  frame.step = std::max<int64_t>(stmt.tileSize, 1);
  const int64_t tiles = std::max<int64_t>(0, (frame.hi - frame.lo + frame.step - 1) / frame.step);
  const plan::Turn own = plan::turnOf(stmt, process.instance);
  frame.trips = own.countOf(tiles);
  frame.goesOn = stmt.operands.size() > 2 && plan::toInteger(process.scalars->get(stmt.operands[2]).value) < frame.lo;
  if (frame.trips == 0 && frame.goesOn) {
    if (!node.epilogue.empty())
      process.frames.emplace_back(node.epilogue);
    return;
  }
  if (frame.trips == 0) {
    if (!node.orElse.empty())
      process.frames.emplace_back(node.orElse);
    return;
  }
  frame.limit = own.countOf(tiles > mostTrips + mostTrips / 2 ? mostTrips : tiles);
  frame.began = process.virtualTime();
  frame.trip = -1;
  frame.at = node.body.size(); // the next step begins the first trip
  process.frames.push_back(frame);
}

/// Trips that are not run take as long as those that were, once the rings were full.
void Simulator::skipTrips(Process &process, Frame &frame) {
  const auto measured = static_cast<double>(frame.limit - frame.limit / 2);
  const double times = static_cast<double>(frame.trips - frame.limit) / measured;
  process.skipped += (process.virtualTime() - frame.measured) * times;
  process.tally.repeat(frame.then, times);
}

/// False: the loop is over.
bool Simulator::nextTrip(Process &process, Frame &frame) {
  if (frame.inEpilogue)
    return false;
  const Node &node = *frame.loop;
  const bool isCut = frame.trips > frame.limit, pipelined = !node.prologue.empty() || !node.epilogue.empty();
  ++frame.trip;
  if (isCut && frame.trip == frame.limit / 2) {
    frame.measured = process.virtualTime();
    frame.then = process.tally;
  }
  if (frame.trip < frame.limit) {
    const plan::Turn own = plan::turnOf(*node.stmt, process.instance);
    const int64_t index = own.first + frame.trip * own.every, begin = frame.lo + index * frame.step;
    process.scalars->set(node.stmt->dest,
                         {static_cast<double>(begin), begin, std::min(begin + frame.step, frame.hi), index});
    frame.nodes = pipelined && frame.trip == 0 && !frame.goesOn ? &node.prologue : &node.body;
    frame.at = 0;
    return true;
  }
  if (isCut)
    skipTrips(process, frame);
  if (node.epilogue.empty())
    return false;
  frame.inEpilogue = true;
  frame.nodes = &node.epilogue;
  frame.at = 0;
  return true;
}

void Simulator::branch(Process &process, const Node &node) {
  const Stmt &stmt = *node.stmt;
  bool taken = true;
  if (!stmt.turn.empty())
    taken = process.cursors[static_cast<size_t>(node.cursor)].stage == process.instance;
  if (!stmt.operands.empty())
    taken = process.scalars->get(stmt.operands[0]).value != 0;
  if (auto fits = inputs.mapsFit.find(stmt.map); fits != inputs.mapsFit.end())
    taken &= fits->second;
  if (const std::vector<Node> &body = taken ? node.body : node.orElse; !body.empty())
    process.frames.emplace_back(body);
}

/// The body, with a later tile of a loop; what stands behind `else` if there is none.
void Simulator::ahead(Process &process, const Node &node) {
  const Stmt &stmt = *node.stmt;
  const auto lo = plan::toInteger(process.scalars->get(stmt.operands[0]).value);
  const auto hi = plan::toInteger(process.scalars->get(stmt.operands[1]).value);
  const int64_t step = std::max<int64_t>(stmt.tileSize, 1);
  const int64_t from = stmt.operands.size() > 2 ? (process.scalars->get(stmt.operands[2]).begin - lo) / step : 0;
  const int64_t index = from + stmt.count, begin = lo + index * step;
  const bool isThere = begin < hi || stmt.always;
  if (isThere)
    process.scalars->set(stmt.dest, {static_cast<double>(begin), begin, std::min(begin + step, hi), index});
  if (const std::vector<Node> &body = isThere ? node.body : node.orElse; !body.empty())
    process.frames.emplace_back(body);
}

} // namespace tkc::cost
