// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simulation's state and its steps. One file a family: vector work, barriers, copies and products, loops and
// branches, the roles' statements in order, and the blocks (Simulate.cpp).
#pragma once

#include "backends/cost/Process.h"
#include "backends/cost/Servers.h"
#include "backends/cost/Simulate.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tkc::cost {

/// Clocks: of a thread that asks the copy engine or the matrix units for something, of a named barrier, of a step of a
/// reduction over threads, of a dependent instruction.
inline constexpr double issueClocks = 16, syncClocks = 30, shuffleClocks = 30, dependentClocks = 6;

class Simulator {
public:
  Simulator(const Program &program, const Machine &machine, const Grid &grid, const plan::Inputs &inputs,
            const std::vector<Tile> &tiles, const SimulationOptions &options)
      : program(program), plan(*program.plan), machine(machine), grid(grid), inputs(inputs), tiles(tiles),
        options(options), servers(machine) {}

  Simulation run();

private:
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

  // Blocks.
  void layOutBarriers();
  void addProcesses(int slot);
  void startSlot(int slot, double at);
  void slotEnded(int slot);
  Process *earliest(double &others);
  void force();
  Simulation sumUp();

  // Roles: these return false where the process waits, or has ended.
  void beginTile(Process &process);
  void endTile(Process &process);
  bool advance(Process &process);
  void endBody(Process &process);
  bool execute(Process &process, const Node &node);
  double fetchNs(const RoleProgram &role, const std::vector<Node> &nodes) const;
  bool isDrawn(const Process &process) const;
  void span(const Process &process, Span::Kind kind, std::string name, double begin, double end, SourceLoc loc);
  void waitUntil(Process &process, double time, const std::string &what, const plan::Stmt &stmt);

  // Vector work.
  bool workOn(Process &process);
  bool endsStretch(const Process &process, const Node &node) const;
  void stretch(Process &process, const Node &node);
  bool compute(Process &process, const Node &node);
  void load(Process &process, const Node &node);

  // Barriers.
  Phases &phasesOf(const Process &process, const Node &node);
  bool wait(Process &process, const Node &node);
  bool meet(Process &process, const plan::Stmt &stmt);
  void expect(Process &process, const Node &node);
  void arrive(const Process &process, const Node &node, int count, double at);
  void deliver(const Process &process, const Node &node, double bytes, double at);
  static void advanceCursor(Process &process, const Node &node);

  // Copies and products.
  bool isOwnCopy(const plan::Stmt &stmt) const;
  double copyByThreads(Process &process, const Node &node);
  double copyOwn(Process &process);
  void useShared(Process &process, double bytes);
  void copyIn(Process &process, const Node &node);
  void copyOut(Process &process, const Node &node);
  void waitForCopies(Process &process, const plan::Stmt &stmt);
  void waitForGroups(Process &process, std::deque<double> &groups, int left, const std::string &what,
                     const plan::Stmt &stmt);
  void product(Process &process, const Node &node);
  void commitProducts(Process &process, const Node &node);

  // Loops and branches.
  void enterLoop(Process &process, const Node &node);
  static bool nextTrip(Process &process, Frame &frame);
  static void skipTrips(Process &process, Frame &frame);
  void branch(Process &process, const Node &node);
  static void ahead(Process &process, const Node &node);

  double clocks(double count) const { return machine.clocks(count); }
  size_t numberOf(const Process &process) const { return static_cast<size_t>(&process - processes.data()); }

  const Program &program;
  const plan::Plan &plan;
  const Machine &machine;
  const Grid &grid;
  const plan::Inputs &inputs;
  const std::vector<Tile> &tiles;
  const SimulationOptions &options;
  Servers servers;
  std::vector<Process> processes;
  std::vector<std::vector<Phases>> barriers;       ///< by slot, then barrier, instance and stage
  std::vector<size_t> barrierBase;                 ///< of each barrier of the plan, its first in a slot's
  std::map<std::pair<int, int>, Meeting> meetings; ///< by slot and number
  std::vector<size_t> slotTiles;                   ///< of each slot, the tile that its block begins with
  size_t tilesTaken = 0;
  std::set<const std::vector<Node> *> fetched; ///< bodies of which the instructions are there
  int64_t mostTrips = 0;                       ///< of a loop that are run
  Track matrixEngine{"matrix engine", {}};     ///< what the first block asks of it
  Simulation result;
};

} // namespace tkc::cost
