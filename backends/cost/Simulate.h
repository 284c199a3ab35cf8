// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One multiprocessor, event by event: the roles of its resident blocks run their statements in order, wait for barriers
// until what completes them has happened, and queue for the units that they share.
#pragma once

#include "backends/cost/Grid.h"
#include "backends/cost/Program.h"

namespace tkc::cost {

struct Simulation {
  /// When the tiles were done, in order, in nanoseconds; long loops count in full, though a few trips are run.
  std::vector<double> ends;
  Demand busy{}; ///< of the units, likewise in full
  double macs = 0;
  double l2Bytes = 0;
  double reading = 0;   ///< of the time of device memory, what loads took
  double waiting = 0;   ///< nanoseconds that an instance of the computing role waited, on average
  double running = 0;   ///< and was there
  double loopNs = 0;    ///< that an instance of the computing role spent in loops
  double loopTrips = 0; ///< and their trips
  int forced = 0;       ///< waits that nothing ended: a fault of the model
  std::vector<Track> timeline;

  double finished = 0; ///< when the last block had ended
};

struct SimulationOptions {
  int resident = 1;        ///< blocks at once
  bool persistent = false; ///< a block goes from tile to tile, without starting anew
  double startNs = 0;      ///< from a block's end to the start of the next in its place
  bool coldCode = false;   ///< instructions come from device memory when they are first executed
  bool timeline = false;
  const CallShape *call = nullptr;
};

Simulation simulate(const Program &program, const Machine &machine, const Grid &grid, const plan::Inputs &inputs,
                    const std::vector<Tile> &tiles, const SimulationOptions &options);

} // namespace tkc::cost
