// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles: one statement after the other, for one tile after the other.
#include "backends/cost/Simulator.h"

#include <algorithm>

namespace tkc::cost {

using plan::Stmt;
using plan::StmtKind;

namespace {

/// Of an instruction; and what is brought in the time of one access to memory.
constexpr double instructionBytes = 16, fetchedAtOnce = 2048;

} // namespace

void Simulator::beginTile(Process &process) {
  if (process.nextTile < tiles.size()) {
    process.scalars = std::make_unique<plan::Scalars>(grid.scalars(tiles[process.nextTile]));
    process.scalars->setInstance(process.instance);
    process.frames.emplace_back(process.role->body);
    return;
  }
  process.finishing = true;
  process.frames.emplace_back(process.role->finish);
}

/// The end of a role's statements for a tile.
void Simulator::endTile(Process &process) {
  if (process.finishing) {
    process.done = true;
    return;
  }
  if (process.computes && process.instance == 0)
    result.ends.push_back(process.virtualTime());
  if (options.persistent) {
    process.nextTile += static_cast<size_t>(options.resident);
    return beginTile(process);
  }
  process.finishing = true;
  process.frames.emplace_back(process.role->finish);
}

/// The timeline is of the first block, of a persistent one with all its tiles.
bool Simulator::isDrawn(const Process &process) const {
  return options.timeline && process.slot == 0 && (options.persistent || process.nextTile == 0);
}

void Simulator::span(const Process &process, Span::Kind kind, std::string name, double begin, double end,
                     SourceLoc loc) {
  if (isDrawn(process) && end > begin)
    result.timeline[numberOf(process)].spans.push_back({kind, std::move(name), begin, end, loc});
}

void Simulator::waitUntil(Process &process, double time, const std::string &what, const Stmt &stmt) {
  if (time <= process.now)
    return;
  span(process, Span::Wait, what, process.now, time, stmt.loc);
  process.tally.waiting += time - process.now;
  process.now = time;
}

/// Runs a statement. False: it waits, and the statement is to be run again.
bool Simulator::execute(Process &process, const Node &node) {
  const Stmt &stmt = *node.stmt;
  const plan::Role &role = *process.role->role;
  switch (stmt.kind) {
  case StmtKind::Compute:
  case StmtKind::Move:
  case StmtKind::Spread:
  case StmtKind::LoadShared:
  case StmtKind::LookUp:
  case StmtKind::StoreShared:
  case StmtKind::Place:
  case StmtKind::LoadTensor:
  case StmtKind::StoreTensor:
  case StmtKind::ScaleTensor:
    return compute(process, node);
  case StmtKind::Load:
  case StmtKind::Fetch:
    load(process, node);
    return true;
  case StmtKind::Store:
  case StmtKind::Atomic:
    stretch(process, node);
    servers.transfer(node.traffic, process.now, process.tally);
    // Once the way to L2 is full, what stands behind it waits.
    process.now = std::max(process.now, servers.idleFrom(Unit::Stores) - machine.l2Ns);
    return true;
  case StmtKind::FenceProxy:
  case StmtKind::TensorFence:
  case StmtKind::ProductFence:
    process.openLatency += dependentClocks;
    return true;
  case StmtKind::Stagger:
  case StmtKind::Record:
  case StmtKind::WaitForPrevious:
  case StmtKind::NextTile:
    return true;
  case StmtKind::Sync:
    return meet(process, stmt);
  case StmtKind::Wait:
    return wait(process, node);
  case StmtKind::Expect:
    expect(process, node);
    return true;
  case StmtKind::Arrive: {
    const auto &how = stmt.as<plan::Arrive>();
    arrive(process, node,
           (how.byWarps ? role.warps : 1) * (role.inFirst    ? 1
                                             : how.inCluster ? plan.mates()
                                             : how.toFirst   ? plan.cluster
                                                             : 1),
           process.now);
    return true;
  }
  case StmtKind::Advance:
    advanceCursor(process, node);
    return true;
  case StmtKind::ClusterSync:
    process.now += clocks(4 * syncClocks);
    return true;
  case StmtKind::Claim:
    deliver(process, node, static_cast<double>(plan.findBuffer(stmt.ref.buffer)->stageBytes()),
            process.now + 2 * machine.l2Ns);
    return true;
  case StmtKind::CopyIn:
    copyIn(process, node);
    return true;
  case StmtKind::CopyOut:
    copyOut(process, node);
    return true;
  case StmtKind::BulkCommit:
    process.bulkGroups.push_back(process.openBulk);
    process.openBulk = 0;
    return true;
  case StmtKind::BulkWait:
    waitForGroups(process, process.bulkGroups, stmt.as<plan::BulkWait>().left, "wait stores", stmt);
    return true;
  case StmtKind::CopyCommit:
    process.copyGroups.push_back(process.openCopies);
    process.openCopies = {};
    return true;
  case StmtKind::CopyWait:
    waitForCopies(process, stmt);
    return true;
  case StmtKind::Product:
    product(process, node);
    return true;
  case StmtKind::ProductCommit:
    commitProducts(process, node);
    return true;
  case StmtKind::ProductWait:
    waitForGroups(process, process.productGroups, stmt.as<plan::ProductWait>().left, "wait products", stmt);
    return true;
  case StmtKind::For:
    enterLoop(process, node);
    return true;
  case StmtKind::If:
    branch(process, node);
    return true;
  case StmtKind::Ahead:
    ahead(process, node);
    return true;
  case StmtKind::Each:
    process.instance = 0;
    process.frames.emplace_back(node.body).turns = process.role->role->instances;
    return true;
  }
  return true;
}

/// The time to bring a body's instructions from memory, where the first of them misses and the rest comes line by line.
double Simulator::fetchNs(const RoleProgram &role, const std::vector<Node> &nodes) const {
  const double threads = role.role->warps * role.role->lanes;
  double instructions = 0;
  for (const Node &node : nodes)
    instructions += 4 + node.work.instructions() / threads;
  return machine.memoryNs * (1 + instructions * instructionBytes / fetchedAtOnce);
}

/// The end of a list of statements: of a loop's the next trip, or on with what stands behind it.
void Simulator::endBody(Process &process) {
  Frame &frame = process.frames.back();
  if (frame.loop && nextTrip(process, frame))
    return;
  if (frame.turns > 1) { // of a serial role
    process.instance = ++frame.turn < frame.turns ? frame.turn : 0;
    if (frame.turn < frame.turns) {
      frame.at = 0;
      return;
    }
  }
  if (frame.loop && process.computes && process.frames.size() == 2) {
    process.loopNs += process.virtualTime() - frame.began;
    process.loopTrips += static_cast<double>(frame.trips);
  }
  process.frames.pop_back();
}

/// One step. False: the process waits, or is done.
bool Simulator::advance(Process &process) {
  const bool atEnd = process.frames.empty() || process.frames.back().at >= process.frames.back().nodes->size();
  if (atEnd && (process.frames.empty() || process.frames.back().loop) && workOn(process))
    return true;
  if (process.frames.empty()) {
    endTile(process);
    if (process.done)
      slotEnded(process.slot);
    return !process.done;
  }
  Frame &frame = process.frames.back();
  if (options.coldCode && frame.at == 0 && fetched.insert(frame.nodes).second)
    process.now += fetchNs(*process.role, *frame.nodes);
  if (atEnd) {
    endBody(process);
    return true;
  }
  const Node &node = (*frame.nodes)[frame.at];
  if (endsStretch(process, node) && workOn(process))
    return true;
  const size_t depth = process.frames.size();
  if (!execute(process, node))
    return false;
  ++process.frames[depth - 1].at;
  return true;
}

} // namespace tkc::cost
