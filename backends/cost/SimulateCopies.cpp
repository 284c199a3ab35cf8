// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and products: what roles ask the copy engine and the matrix units for, and when it is there.
#include "backends/cost/Simulator.h"

#include <algorithm>

namespace tkc::cost {

using plan::Stmt;

/// Whether threads copy what is the copy engine's elsewhere: these rows do not suit it.
bool Simulator::isOwnCopy(const Stmt &stmt) const {
  const auto fits = inputs.mapsFit.find(stmt.map);
  return stmt.map.empty() || (fits != inputs.mapsFit.end() && !fits->second);
}

/// Copies by the threads of a role: as fast as rows' alignment and what each thread has in flight allow.
double Simulator::copyByThreads(Process &process, const Node &node) {
  const plan::Role &role = *process.role->role;
  const double threads = role.warps * role.lanes;
  int alignment = 16;
  for (const ir::Param &param : plan.params)
    if (options.call && param.name == node.stmt->view.tensor)
      alignment = std::min(rowAlignment(param, *options.call), 16);
  const double bytes = node.traffic.bytes;
  // Chunks of 16 bytes: by asynchronous copies where rows are aligned to 4 bytes; else two at a time, through words
  // around them that are shifted into place.
  const double pieces = alignment >= 4 ? bytes / alignment : bytes / 4;
  Demand demand =
      machine.demandOf({.simple = pieces * (alignment >= 4 ? 1 : 4), .others = pieces * 3, .sharedBytes = 2 * bytes});
  const double issued = servers.work(demand, process.now, process.tally.busy);
  const double rounds = alignment >= 4 ? 1 : std::max(1.0, bytes / (threads * 32));
  const double there = servers.transfer(node.traffic, process.now, process.tally);
  return std::max({issued, there, process.now + rounds * machine.memoryNs});
}

/// What comes after an Expect and no copy engine does, the role's threads do before they arrive. Bytes that were
/// expected of it.
double Simulator::copyOwn(Process &process) {
  const Frame &frame = process.frames.back();
  double bytes = 0;
  for (size_t at = frame.at + 1; at < frame.nodes->size() && (*frame.nodes)[at].stmt->kind == plan::StmtKind::CopyIn;
       ++at) {
    const Node &copy = (*frame.nodes)[at];
    if (!isOwnCopy(*copy.stmt) || copy.stmt->isThreadCopy())
      continue;
    const double begin = process.now;
    process.now = copyByThreads(process, copy);
    span(process, Span::Copy, "", begin, process.now, copy.stmt->loc);
    const plan::Buffer *buffer = plan.findBuffer(copy.stmt->ref.buffer);
    bytes += buffer && !copy.stmt->map.empty() ? static_cast<double>(buffer->copiedBytes()) : 0;
  }
  return bytes;
}

/// What engines read and write in shared memory beside threads: nobody waits for it, but there is only so much in all.
void Simulator::useShared(Process &process, double bytes) {
  at(process.tally.busy, Unit::Shared) += clocks(bytes / static_cast<double>(machine.arch.sharedSpan));
}

void Simulator::copyIn(Process &process, const Node &node) {
  const Stmt &stmt = *node.stmt;
  if (stmt.isThreadCopy()) {
    process.now = servers.work(node.demand, process.now, process.tally.busy);
    process.openCopies.done =
        std::max(process.openCopies.done, servers.transfer(node.traffic, process.now, process.tally));
    process.openCopies.loads += stmt.loads;
    if (stmt.loads > 0) {
      process.copyGroups.push_back(process.openCopies);
      process.openCopies = {};
    }
    return;
  }
  const plan::Buffer *buffer = plan.findBuffer(stmt.ref.buffer);
  const double bytes = static_cast<double>(buffer ? buffer->copiedBytes() : 0) * (stmt.toFirst ? plan.cluster : 1);
  if (isOwnCopy(stmt))
    return; // it came before the arrival
  const plan::TensorMap *map = plan.findMap(stmt.map);
  const double boxes = map && buffer ? std::max(1.0, static_cast<double>(buffer->rows * buffer->cols) /
                                                         std::max<int64_t>(map->boxRows * map->boxCols, 1))
                                     : 1;
  const double begin = process.now;
  process.now += clocks(issueClocks * boxes);
  span(process, Span::Copy, "", begin, process.now, stmt.loc);
  useShared(process, node.traffic.bytes);
  deliver(process, node, bytes, servers.transfer(node.traffic, process.now, process.tally));
}

void Simulator::copyOut(Process &process, const Node &node) {
  const double begin = process.now;
  if (node.stmt->map.empty()) {
    process.now = servers.work(node.demand, process.now, process.tally.busy);
  } else {
    process.now += clocks(issueClocks);
    useShared(process, node.traffic.bytes);
  }
  const double done = servers.transfer(node.traffic, process.now, process.tally);
  // Its buffer is free once it was read, which the way to memory does not hold up for long.
  process.openBulk = std::max(process.openBulk, std::min(done, servers.idleFrom(Unit::Stores) + machine.l2Ns));
  span(process, Span::Copy, "", begin, process.now, node.stmt->loc);
}

/// Until no more groups are under way than the statement allows; of loads that are counted one by one, no more loads.
void Simulator::waitForCopies(Process &process, const Stmt &stmt) {
  const auto &wait = stmt.as<plan::CopyWait>();
  int allowed = wait.left;
  auto last = process.copyGroups.end();
  while (last != process.copyGroups.begin() && allowed > 0) {
    --last;
    allowed -= wait.byLoads ? std::max(last->loads, 1) : 1;
  }
  double done = 0;
  for (auto at = process.copyGroups.begin(); at != last; ++at)
    done = std::max(done, at->done);
  process.copyGroups.erase(process.copyGroups.begin(), last);
  waitUntil(process, done, "wait copies", stmt);
}

void Simulator::waitForGroups(Process &process, std::deque<double> &groups, int left, const std::string &what,
                              const Stmt &stmt) {
  while (groups.size() > static_cast<size_t>(left)) {
    waitUntil(process, groups.front(), what, stmt);
    groups.pop_front();
  }
}

void Simulator::product(Process &process, const Node &node) {
  process.tally.macs += node.macs;
  if (node.stmt->isSynchronous())
    return stretch(process, node);
  // The registers that it reads and writes are settled.
  const double begin = process.now;
  process.now += clocks(issueClocks);
  const double start = std::max(process.now, servers.idleFrom(Unit::Matrix));
  process.productsDone = servers.product(node.matrixNs, process.now, process.tally.busy);
  useShared(process, node.operandBytes);
  span(process, Span::Product, "", begin, process.now, node.stmt->loc);
  if (isDrawn(process))
    matrixEngine.spans.push_back({Span::Product, "", start, start + node.matrixNs, node.stmt->loc});
}

void Simulator::commitProducts(Process &process, const Node &node) {
  const plan::Role &role = *process.role->role;
  if (node.barrier >= 0)
    arrive(process, node, node.stmt->as<plan::ProductCommit>().inCluster && !role.inFirst ? plan.mates() : 1,
           std::max(process.productsDone, process.now));
  else
    process.productGroups.push_back(process.productsDone);
}

} // namespace tkc::cost
