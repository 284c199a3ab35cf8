// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
#include "backends/cost/Simulate.h"
#include "backends/cost/Process.h"
#include "backends/cost/Servers.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace tkc::cost {

using plan::Stmt;
using plan::StmtKind;
using plan::VarType;

namespace {

/// Clocks: of a thread that asks the copy engine or the matrix units for something, from an arrival to the waiter's
/// next instruction, of a named barrier, of a step of a reduction over threads, of a dependent instruction.
constexpr double issueClocks = 16, wakeClocks = 24, syncClocks = 30, shuffleClocks = 30, dependentClocks = 6;
/// Clocks of vector work after which another role's gets its turn.
constexpr double turnClocks = 128;
/// Of an instruction; and what is brought in the time of one access to memory.
constexpr double instructionBytes = 16, fetchedAtOnce = 2048;

/// A stage of a barrier: the phases that are over, and what the one under way has got.
struct Phases {
  int64_t over = 0;
  double lastEnd = 0, endBefore = 0;
  int arrivals = 0;
  double latest = 0;
  double bytesToCome = 0;
  std::vector<size_t> waiters;
};

/// A named barrier, or one of the block, at which some have come.
struct Meeting {
  int threads = 0;
  double latest = 0;
  std::vector<size_t> waiters;
};

class Simulator {
public:
  Simulator(const Program &program, const Machine &machine, const Grid &grid, const plan::Inputs &inputs,
            const std::vector<Tile> &tiles, const SimulationOptions &options)
      : program(program), plan(*program.plan), machine(machine), grid(grid), inputs(inputs), tiles(tiles),
        options(options), servers(machine) {}

  Simulation run();

private:
  void startSlot(int slot, double at);
  void beginTile(Process &process);
  bool advance(Process &process); ///< false: it waits, or has ended
  bool execute(Process &process, const Node &node);
  bool enter(Process &process, const Node &node);
  void enterLoop(Process &process, const Node &node);
  bool nextTrip(Process &process, Frame &frame);
  void skipTrips(Process &process, Frame &frame);
  bool workOn(Process &process);
  bool endsStretch(const Process &process, const Node &node) const;
  void stretch(Process &process, const Node &node);
  void waitUntil(Process &process, double time, const std::string &what, const Stmt &stmt);
  bool wait(Process &process, const Node &node);
  bool meet(Process &process, const Stmt &stmt);
  void arrive(const Process &process, const Node &node, int count, double at);
  void deliver(const Process &process, const Node &node, double bytes, double at);
  void copyIn(Process &process, const Node &node);
  double copyByThreads(Process &process, const Node &node);
  double copyOwn(Process &process);
  void copyOut(Process &process, const Node &node);
  void product(Process &process, const Node &node);
  void endTile(Process &process);
  void slotEnded(int slot);
  void force();
  double fetchNs(const RoleProgram &role, const std::vector<Node> &nodes) const;
  void span(const Process &process, Span::Kind kind, std::string name, double begin, double end, SourceLoc loc);

  Phases &phasesOf(const Process &process, const Node &node);
  double clocks(double count) const { return machine.clocks(count); }
  bool isOwnCopy(const Stmt &stmt) const {
    const auto fits = inputs.mapsFit.find(stmt.map);
    return stmt.map.empty() || (fits != inputs.mapsFit.end() && !fits->second);
  }

  const Program &program;
  const plan::Plan &plan;
  const Machine &machine;
  const Grid &grid;
  const plan::Inputs &inputs;
  const std::vector<Tile> &tiles;
  const SimulationOptions &options;
  Servers servers;
  std::vector<Process> processes;
  std::vector<std::vector<Phases>> barriers; ///< by slot, then barrier, instance and stage
  std::vector<size_t> barrierBase;
  std::map<std::pair<int, int>, Meeting> meetings; ///< by slot and number
  std::vector<size_t> slotTiles;                   ///< tiles that a slot has taken; persistent: the number of its next
  size_t tilesTaken = 0;
  std::set<const std::vector<Node> *> fetched; ///< bodies of which the instructions are there
  int64_t limit = 12;
  Track matrixEngine{"matrix engine", {}}; ///< what the first block asks of it
  Simulation result;
};

Phases &Simulator::phasesOf(const Process &process, const Node &node) {
  const plan::Barrier &barrier = plan.barriers[static_cast<size_t>(node.barrier)];
  const int64_t instance = barrier.instances > 1 ? process.instance : 0;
  const int64_t stage = node.cursor < 0 ? 0 : process.cursors[static_cast<size_t>(node.cursor)].stage;
  const size_t number = barrierBase[static_cast<size_t>(node.barrier)] +
                        static_cast<size_t>(instance * barrier.stages + std::min<int64_t>(stage, barrier.stages - 1));
  return barriers[static_cast<size_t>(process.slot)][number];
}

void Simulator::span(const Process &process, Span::Kind kind, std::string name, double begin, double end,
                     SourceLoc loc) {
  if (!options.timeline || process.slot != 0 || end <= begin || (!options.persistent && process.nextTile > 0))
    return;
  const size_t number = static_cast<size_t>(&process - processes.data());
  if (number < result.timeline.size())
    result.timeline[number].spans.push_back({kind, std::move(name), begin, end, loc});
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

/// A block starts in a slot: every role at the same time.
void Simulator::startSlot(int slot, double at) {
  for (Phases &phases : barriers[static_cast<size_t>(slot)])
    phases = {};
  for (Process &process : processes) {
    if (process.slot != slot)
      continue;
    Process fresh;
    fresh.role = process.role;
    fresh.slot = slot;
    fresh.instance = process.instance;
    fresh.computes = process.computes;
    fresh.skipped = process.skipped;
    fresh.tally = process.tally;
    fresh.loopNs = process.loopNs;
    fresh.loopTrips = process.loopTrips;
    fresh.now = at;
    fresh.nextTile = slotTiles[static_cast<size_t>(slot)];
    fresh.cursors.resize(static_cast<size_t>(process.role->cursors));
    fresh.ready.resize(static_cast<size_t>(process.role->variables));
    fresh.reducing.resize(static_cast<size_t>(process.role->variables));
    process = std::move(fresh);
    beginTile(process);
  }
}

void Simulator::beginTile(Process &process) {
  if (process.nextTile < tiles.size()) {
    process.scalars = std::make_unique<plan::Scalars>(grid.scalars(tiles[process.nextTile]));
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

void Simulator::slotEnded(int slot) {
  double end = 0;
  for (const Process &process : processes)
    if (process.slot == slot) {
      if (!process.done)
        return;
      end = std::max(end, process.now);
    }
  if (options.persistent || tilesTaken >= tiles.size())
    return;
  slotTiles[static_cast<size_t>(slot)] = tilesTaken++;
  startSlot(slot, end + options.startNs);
}

// ---- vector work ----------------------------------------------------------------------------------------------------

/// Does a part of the open stretch, so that roles that compute at the same time take turns, as warps do. Whether
/// anything was left to do.
bool Simulator::workOn(Process &process) {
  if (!process.hasOpen)
    return false;
  if (process.parts == 0) {
    const double longest = *std::max_element(process.open.begin(), process.open.end());
    process.parts = std::max(1, static_cast<int>(std::ceil(longest / clocks(turnClocks))));
    for (double &each : process.open)
      each /= process.parts;
    process.openSince = process.now;
  }
  process.now = servers.work(process.open, process.now, process.tally.busy);
  if (--process.parts > 0)
    return true;
  process.now += clocks(process.openLatency);
  span(process, Span::Compute, "", process.openSince, process.now, process.openLoc);
  process.open = {};
  process.openLatency = 0;
  process.hasOpen = false;
  std::fill(process.reducing.begin(), process.reducing.end(), 0);
  return true;
}

/// Whether the open stretch has to be over before a statement.
bool Simulator::endsStretch(const Process &process, const Node &node) const {
  switch (node.stmt->kind) {
  case StmtKind::Compute:
  case StmtKind::Move:
  case StmtKind::Spread:
  case StmtKind::LoadShared:
  case StmtKind::StoreShared:
  case StmtKind::Place:
  case StmtKind::LoadTensor:
  case StmtKind::StoreTensor:
  case StmtKind::ScaleTensor:
  case StmtKind::Store:
  case StmtKind::Atomic:
    return std::any_of(node.reads.begin(), node.reads.end(), [&](int read) {
      return process.reducing[static_cast<size_t>(read)] || process.ready[static_cast<size_t>(read)] > process.now;
    });
  case StmtKind::Product:
    return !node.stmt->isSynchronous();
  case StmtKind::Load:
  case StmtKind::Fetch:
  case StmtKind::FenceProxy:
  case StmtKind::TensorFence:
  case StmtKind::ProductFence:
  case StmtKind::Stagger:
  case StmtKind::WaitForPrevious:
  case StmtKind::NextTile:
  case StmtKind::BulkCommit:
  case StmtKind::CopyCommit:
  case StmtKind::ProductCommit:
  case StmtKind::Advance:
  case StmtKind::Claim:
  case StmtKind::If:
  case StmtKind::Ahead:
  case StmtKind::Record:
    return false;
  case StmtKind::Sync:
  case StmtKind::Expect:
  case StmtKind::CopyIn:
  case StmtKind::CopyOut:
  case StmtKind::BulkWait:
  case StmtKind::CopyWait:
  case StmtKind::ProductWait:
  case StmtKind::Wait:
  case StmtKind::Arrive:
  case StmtKind::ClusterSync:
  case StmtKind::For:
    return true;
  }
  return true;
}

/// Adds a statement's work to the open stretch, after what it needs.
void Simulator::stretch(Process &process, const Node &node) {
  for (int read : node.reads) {
    const auto at = static_cast<size_t>(read);
    waitUntil(process, process.ready[at], "wait loads", *node.stmt);
  }
  if (!process.hasOpen)
    process.openLoc = node.stmt->loc;
  process.hasOpen = true;
  add(process.open, node.demand);
  process.openLatency += dependentClocks;
  if (node.endsReduction) {
    process.openLatency += shuffleClocks * (node.work.shuffles > 0 ? 2 : 0);
    process.reducing[static_cast<size_t>(node.dest)] = 1;
  }
}

void Simulator::waitUntil(Process &process, double time, const std::string &what, const Stmt &stmt) {
  if (time <= process.now)
    return;
  span(process, Span::Wait, what, process.now, time, stmt.loc);
  process.tally.waiting += time - process.now;
  process.now = time;
}

// ---- barriers -------------------------------------------------------------------------------------------------------

bool Simulator::wait(Process &process, const Node &node) {
  Phases &phases = phasesOf(process, node);
  const int64_t round = node.cursor < 0 ? 0 : process.cursors[static_cast<size_t>(node.cursor)].round;
  const int64_t wanted = node.stmt->inverted ? round - 1 : round;
  if (wanted >= phases.over) {
    phases.waiters.push_back(static_cast<size_t>(&process - processes.data()));
    process.blocked = true;
    return false;
  }
  if (wanted >= 0) {
    const double end = wanted == phases.over - 1 ? phases.lastEnd : phases.endBefore;
    if (end > process.now)
      waitUntil(process, end + clocks(wakeClocks), "wait " + node.stmt->barrier, *node.stmt);
  }
  process.now += clocks(process.role->oneThread ? issueClocks : dependentClocks);
  return true;
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
  if (stmt.threads <= own) {
    process.now += clocks(syncClocks);
    return true;
  }
  Meeting &meeting = meetings[{process.slot, stmt.id}];
  meeting.threads += own;
  meeting.latest = std::max(meeting.latest, process.now);
  if (meeting.threads < stmt.threads) {
    meeting.waiters.push_back(static_cast<size_t>(&process - processes.data()));
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

// ---- copies and products --------------------------------------------------------------------------------------------

/// Copies by the threads of a role: as fast as rows' alignment and what each thread has in flight allow.
double Simulator::copyByThreads(Process &process, const Node &node) {
  const plan::Role &role = *process.role->role;
  const double threads = role.warps * role.lanes;
  int alignment = 16;
  for (const ir::Param &param : plan.params)
    if (options.call && param.name == node.stmt->view.tensor)
      alignment = rowAlignment(param, *options.call);
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
  for (size_t at = frame.at + 1; at < frame.nodes->size() && (*frame.nodes)[at].stmt->kind == StmtKind::CopyIn; ++at) {
    const Node &copy = (*frame.nodes)[at];
    if (!isOwnCopy(*copy.stmt))
      continue;
    const double begin = process.now;
    process.now = copyByThreads(process, copy);
    span(process, Span::Copy, "", begin, process.now, copy.stmt->loc);
    const plan::Buffer *buffer = plan.findBuffer(copy.stmt->ref.buffer);
    bytes += buffer && !copy.stmt->map.empty() ? static_cast<double>(buffer->stageBytes()) : 0;
  }
  return bytes;
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
  const double bytes = static_cast<double>(buffer ? buffer->stageBytes() : 0) * (stmt.toFirst ? plan.cluster : 1);
  if (isOwnCopy(stmt))
    return; // it came before the arrival
  const plan::TensorMap *map = plan.findMap(stmt.map);
  const double boxes = map && buffer ? std::max(1.0, static_cast<double>(buffer->rows * buffer->cols) /
                                                         std::max<int64_t>(map->boxRows * map->boxCols, 1))
                                     : 1;
  const double begin = process.now;
  process.now += clocks(issueClocks * boxes);
  span(process, Span::Copy, "", begin, process.now, stmt.loc);
  deliver(process, node, bytes, servers.transfer(node.traffic, process.now, process.tally));
}

void Simulator::copyOut(Process &process, const Node &node) {
  const double begin = process.now;
  if (node.stmt->map.empty())
    process.now = servers.work(node.demand, process.now, process.tally.busy);
  else
    process.now += clocks(issueClocks);
  const double done = servers.transfer(node.traffic, process.now, process.tally);
  // Its buffer is free once it was read, which the way to memory does not hold up for long.
  process.openBulk = std::max(process.openBulk, std::min(done, servers.idleFrom(Unit::L2) + machine.l2Ns));
  span(process, Span::Copy, "", begin, process.now, node.stmt->loc);
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
  span(process, Span::Product, "", begin, process.now, node.stmt->loc);
  if (options.timeline && process.slot == 0 && (options.persistent || process.nextTile == 0))
    matrixEngine.spans.push_back({Span::Product, "", start, start + node.matrixNs, node.stmt->loc});
}

// ---- control --------------------------------------------------------------------------------------------------------

void Simulator::enterLoop(Process &process, const Node &node) {
  const Stmt &stmt = *node.stmt;
  Frame frame(node.body);
  frame.loop = &node;
  frame.lo = plan::toInteger(process.scalars->get(stmt.operands[0]).value);
  frame.hi = plan::toInteger(process.scalars->get(stmt.operands[1]).value);
  frame.step = std::max<int64_t>(stmt.tileSize, 1);
  frame.trips = std::max<int64_t>(0, (frame.hi - frame.lo + frame.step - 1) / frame.step);
  if (frame.trips == 0)
    return;
  frame.limit = frame.trips > limit + limit / 2 ? limit : frame.trips;
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
  for (size_t i = 0; i < numUnits; ++i)
    process.tally.busy[i] += (process.tally.busy[i] - frame.then.busy[i]) * times;
  process.tally.macs += (process.tally.macs - frame.then.macs) * times;
  process.tally.waiting += (process.tally.waiting - frame.then.waiting) * times;
  process.tally.l2Bytes += (process.tally.l2Bytes - frame.then.l2Bytes) * times;
  process.tally.reading += (process.tally.reading - frame.then.reading) * times;
}

/// False: the loop is over.
bool Simulator::nextTrip(Process &process, Frame &frame) {
  const Node &node = *frame.loop;
  const bool pipelined = !node.prologue.empty() || !node.epilogue.empty();
  if (frame.inEpilogue)
    return false;
  ++frame.trip;
  if (frame.trips > frame.limit && (frame.trip == frame.limit / 2 || frame.trip == frame.limit))
    if (frame.trips > frame.limit && frame.trip == frame.limit / 2) {
      frame.measured = process.virtualTime();
      frame.then = process.tally;
    }
  if (frame.trip < frame.limit) {
    const int64_t begin = frame.lo + frame.trip * frame.step;
    process.scalars->set(node.stmt->dest,
                         {static_cast<double>(begin), begin, std::min(begin + frame.step, frame.hi), frame.trip});
    frame.nodes = pipelined && frame.trip == 0 ? &node.prologue : &node.body;
    frame.at = 0;
    return true;
  }
  if (frame.trips > frame.limit)
    skipTrips(process, frame);
  if (node.epilogue.empty())
    return false;
  frame.inEpilogue = true;
  frame.nodes = &node.epilogue;
  frame.at = 0;
  return true;
}

bool Simulator::enter(Process &process, const Node &node) {
  const Stmt &stmt = *node.stmt;
  const std::vector<Node> *body = &node.body;
  if (stmt.kind == StmtKind::If) {
    bool taken = true;
    if (!stmt.cursor.empty())
      taken = process.cursors[static_cast<size_t>(node.cursor)].stage == process.instance;
    else if (stmt.map.empty())
      taken = process.scalars->get(stmt.operands[0]).value != 0;
    else if (auto fits = inputs.mapsFit.find(stmt.map); fits != inputs.mapsFit.end())
      taken = fits->second;
    if (!taken)
      body = &node.orElse;
  } else {
    const auto lo = plan::toInteger(process.scalars->get(stmt.operands[0]).value);
    const auto hi = plan::toInteger(process.scalars->get(stmt.operands[1]).value);
    const int64_t step = std::max<int64_t>(stmt.tileSize, 1);
    const int64_t from = stmt.operands.size() > 2 ? (process.scalars->get(stmt.operands[2]).begin - lo) / step : 0;
    const int64_t begin = lo + (from + stmt.count) * step;
    if (begin >= hi && !stmt.always)
      body = &node.orElse;
    else
      process.scalars->set(stmt.dest,
                           {static_cast<double>(begin), begin, std::min(begin + step, hi), from + stmt.count});
  }
  if (!body->empty())
    process.frames.emplace_back(*body);
  return true;
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
  case StmtKind::StoreShared:
  case StmtKind::Place:
  case StmtKind::LoadTensor:
  case StmtKind::StoreTensor:
  case StmtKind::ScaleTensor:
    if (node.isScalar && stmt.kind != StmtKind::LoadShared) {
      process.scalars->run(stmt, node.destType, 0);
      return true;
    }
    stretch(process, node);
    if (stmt.kind == StmtKind::LoadTensor || stmt.kind == StmtKind::LoadShared)
      process.openLatency += shuffleClocks;
    if (stmt.kind == StmtKind::Compute && !stmt.ref.buffer.empty())
      return meet(process, stmt);
    return true;
  case StmtKind::Load:
  case StmtKind::Fetch: {
    if (node.isScalar) {
      process.scalars->run(stmt, node.destType, 0);
      return true;
    }
    // The compiler asks for it before the work of the stretch.
    const double there = servers.transfer(node.traffic, process.now, process.tally);
    add(process.open, node.demand);
    process.hasOpen = true;
    process.ready[static_cast<size_t>(node.dest)] = there;
    return true;
  }
  case StmtKind::Store:
  case StmtKind::Atomic:
    stretch(process, node);
    servers.transfer(node.traffic, process.now, process.tally);
    return true;
  case StmtKind::FenceProxy:
  case StmtKind::TensorFence:
  case StmtKind::ProductFence:
    process.openLatency += dependentClocks;
    return true;
  case StmtKind::Sync:
    return meet(process, stmt);
  case StmtKind::Stagger:
  case StmtKind::Record:
  case StmtKind::WaitForPrevious:
  case StmtKind::NextTile:
    return true;
  case StmtKind::Expect: {
    process.now += clocks(issueClocks);
    phasesOf(process, node).bytesToCome += static_cast<double>(stmt.bytes) - copyOwn(process);
    arrive(process, node, stmt.one || process.role->oneThread ? 1 : plan.findBarrier(stmt.barrier)->arrivals,
           process.now);
    return true;
  }
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
    while (process.bulkGroups.size() > static_cast<size_t>(stmt.count)) {
      waitUntil(process, process.bulkGroups.front(), "wait copies", stmt);
      process.bulkGroups.pop_front();
    }
    return true;
  case StmtKind::CopyCommit:
    process.copyGroups.push_back(process.openCopies);
    process.openCopies = {};
    return true;
  case StmtKind::CopyWait: {
    int allowed = stmt.count;
    auto last = process.copyGroups.end();
    while (last != process.copyGroups.begin() && allowed > 0) {
      --last;
      allowed -= stmt.byLoads ? std::max(last->loads, 1) : 1;
    }
    double done = 0;
    for (auto at = process.copyGroups.begin(); at != last; ++at)
      done = std::max(done, at->done);
    process.copyGroups.erase(process.copyGroups.begin(), last);
    waitUntil(process, done, "wait copies", stmt);
    return true;
  }
  case StmtKind::Product:
    product(process, node);
    return true;
  case StmtKind::ProductCommit:
    if (node.barrier >= 0)
      arrive(process, node, stmt.inCluster && !role.inFirst ? plan.cluster : 1,
             std::max(process.productsDone, process.now));
    else
      process.productGroups.push_back(process.productsDone);
    return true;
  case StmtKind::ProductWait:
    while (process.productGroups.size() > static_cast<size_t>(stmt.count)) {
      waitUntil(process, process.productGroups.front(), "wait products", stmt);
      process.productGroups.pop_front();
    }
    return true;
  case StmtKind::Wait:
    return wait(process, node);
  case StmtKind::Arrive: {
    const int each = stmt.byWarps ? role.warps : 1;
    arrive(process, node, each * ((stmt.inCluster || stmt.toFirst) && !role.inFirst ? plan.cluster : 1), process.now);
    return true;
  }
  case StmtKind::Advance: {
    Process::Cursor &cursor = process.cursors[static_cast<size_t>(node.cursor)];
    if (++cursor.stage >= node.ringStages)
      cursor = {0, cursor.round + 1};
    return true;
  }
  case StmtKind::ClusterSync:
    process.now += clocks(4 * syncClocks);
    return true;
  case StmtKind::Claim:
    deliver(process, node, static_cast<double>(plan.findBuffer(stmt.ref.buffer)->stageBytes()),
            process.now + 2 * machine.l2Ns);
    return true;
  case StmtKind::For:
    enterLoop(process, node);
    return true;
  case StmtKind::If:
  case StmtKind::Ahead:
    return enter(process, node);
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
  if (frame.at >= frame.nodes->size()) {
    if (frame.loop && nextTrip(process, frame))
      return true;
    if (frame.loop && process.computes && process.frames.size() == 2) {
      process.loopNs += process.virtualTime() - frame.began;
      process.loopTrips += static_cast<double>(frame.trips);
    }
    process.frames.pop_back();
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

/// Nothing can go on: lets the one that has waited longest go. The plan has passed the verifier, so the model is wrong.
void Simulator::force() {
  Process *first = nullptr;
  for (Process &process : processes)
    if (!process.done && (!first || process.now < first->now))
      first = &process;
  ++result.forced;
  first->blocked = false;
  ++first->frames.back().at;
}

Simulation Simulator::run() {
  int stages = 1;
  size_t count = 0;
  for (const plan::Barrier &barrier : plan.barriers) {
    barrierBase.push_back(count);
    count += static_cast<size_t>(barrier.stages * barrier.instances);
    stages = std::max(stages, barrier.stages);
  }
  for (const plan::Buffer &buffer : plan.buffers)
    stages = std::max(stages, buffer.stages);
  limit = std::max<int64_t>(24, 4 * stages + 8);
  const int slots = static_cast<int>(std::min<size_t>(static_cast<size_t>(options.resident), tiles.size()));
  barriers.assign(static_cast<size_t>(slots), std::vector<Phases>(count));
  slotTiles.resize(static_cast<size_t>(slots));
  for (int slot = 0; slot < slots; ++slot)
    for (size_t role = 0; role < program.roles.size(); ++role)
      for (int instance = 0; instance < program.roles[role].role->instances; ++instance) {
        Process process;
        process.role = &program.roles[role];
        process.slot = slot;
        process.instance = instance;
        process.computes = role == program.computing;
        if (slot == 0 && options.timeline) {
          const plan::Role &it = *process.role->role;
          result.timeline.push_back({it.instances > 1 ? fmt::format("{} {}", it.name, instance) : it.name, {}});
        }
        processes.push_back(std::move(process));
      }
  for (int slot = 0; slot < slots; ++slot) {
    slotTiles[static_cast<size_t>(slot)] = tilesTaken++;
    startSlot(slot, 0);
  }
  for (;;) {
    Process *next = nullptr;
    double others = HUGE_VAL;
    bool anyLeft = false;
    for (Process &process : processes) {
      anyLeft |= !process.done;
      if (process.done || process.blocked)
        continue;
      if (!next || process.now < next->now) {
        others = next ? std::min(others, next->now) : others;
        next = &process;
      } else {
        others = std::min(others, process.now);
      }
    }
    if (!anyLeft)
      break;
    if (!next) {
      force();
      continue;
    }
    // Others who wait may be let go meanwhile, at a time that is not before this one's.
    while (advance(*next) && next->now <= others) {
    }
  }
  std::sort(result.ends.begin(), result.ends.end());
  for (const Process &process : processes)
    if (process.computes)
      result.finished = std::max(result.finished, process.virtualTime());
  if (!matrixEngine.spans.empty())
    result.timeline.push_back(std::move(matrixEngine));
  double computing = 0;
  for (const Process &process : processes) {
    add(result.busy, process.tally.busy);
    result.macs += process.tally.macs;
    result.reading += process.tally.reading;
    result.l2Bytes += process.tally.l2Bytes;
    if (!process.computes)
      continue;
    ++computing;
    result.waiting += process.tally.waiting;
    result.running += process.virtualTime();
    result.loopNs += process.loopNs;
    result.loopTrips += process.loopTrips;
  }
  for (double *each : {&result.waiting, &result.running})
    *each /= std::max(computing, 1.0);
  return std::move(result);
}

} // namespace

Simulation simulate(const Program &program, const Machine &machine, const Grid &grid, const plan::Inputs &inputs,
                    const std::vector<Tile> &tiles, const SimulationOptions &options) {
  if (tiles.empty())
    return {};
  return Simulator(program, machine, grid, inputs, tiles, options).run();
}

} // namespace tkc::cost
