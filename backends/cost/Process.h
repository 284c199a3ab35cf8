// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An instance of a role of a block, as the simulation runs it.
#pragma once

#include "backends/cost/Program.h"
#include "ir/plan/verify/Scalars.h"

#include <deque>
#include <memory>
#include <vector>

namespace tkc::cost {

/// What a process had its units do, and how long it waited.
struct Tally {
  Demand busy{};
  double macs = 0, waiting = 0;
  double l2Bytes = 0;
  double reading = 0; ///< of the time of device memory, what loads took

  /// What came since `then`, so many times more.
  void repeat(const Tally &then, double times);
};

/// A list of statements under way, or a loop over one.
struct Frame {
  explicit Frame(const std::vector<Node> &nodes) : nodes(&nodes) {}

  const std::vector<Node> *nodes;
  size_t at = 0;
  const Node *loop = nullptr;
  int64_t lo = 0, hi = 0, step = 1, trip = 0, trips = 0;
  int64_t limit = 0;   ///< trips that are run
  double began = 0;    ///< the loop
  double measured = 0; ///< when the trip began from which the period is measured
  Tally then;          ///< and what was done until then
  bool inEpilogue = false;
  bool goesOn = false;     ///< the loop before, of the same pipeline, had iterations
  int turn = 0, turns = 1; ///< of Each: an instance, and how many there are
};

/// Where a process is in the block under way.
struct Progress {
  struct Cursor {
    int64_t stage = 0, round = 0;
  };
  struct Copies {
    double done = 0;
    int loads = 0;
  };

  size_t nextTile = 0;
  std::unique_ptr<plan::Scalars> scalars;
  std::vector<Cursor> cursors;
  std::vector<double> ready;  ///< when a variable that memory brings is there
  std::vector<char> reducing; ///< a reduction to this variable stands in the open stretch
  std::vector<Frame> frames;
  bool finishing = false, done = false, blocked = false;

  double now = 0;
  /// Vector work since the last statement that synchronises: a stretch, in which the compiler mixes instructions.
  Demand open{};
  double openLatency = 0;
  bool hasOpen = false;
  int parts = 0; ///< of it, that are still to be done, `open` being one; 0: none was
  double openSince = 0;
  SourceLoc openLoc;

  double productsDone = 0; ///< those issued so far
  std::deque<double> productGroups, bulkGroups;
  std::deque<Copies> copyGroups;
  Copies openCopies;
  double openBulk = 0;
};

struct Process : Progress {
  const RoleProgram *role = nullptr;
  int slot = 0, instance = 0;
  bool computes = false; ///< an instance of the computing role
  double skipped = 0;    ///< time of trips that were not run, up to now
  Tally tally;           ///< with trips that were not run
  double loopNs = 0, loopTrips = 0;

  double virtualTime() const { return now + skipped; }
  /// In the next block of its slot.
  void startAnew(double at, size_t tile);
};

} // namespace tkc::cost
