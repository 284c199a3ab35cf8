// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of a multiprocessor in their slots, and whose turn it is.
#include "backends/cost/Simulator.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace tkc::cost {

void Process::startAnew(double at, size_t tile) {
  static_cast<Progress &>(*this) = {};
  now = at;
  nextTile = tile;
  cursors.resize(static_cast<size_t>(role->cursors));
  ready.resize(static_cast<size_t>(role->variables));
  reducing.resize(static_cast<size_t>(role->variables));
}

/// A block starts in a slot: every role at the same time.
void Simulator::startSlot(int slot, double at) {
  for (Phases &phases : barriers[static_cast<size_t>(slot)])
    phases = {};
  for (Process &process : processes) {
    if (process.slot != slot)
      continue;
    process.startAnew(at, slotTiles[static_cast<size_t>(slot)]);
    beginTile(process);
  }
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

/// Barriers get places in the slots, and loops as many trips as fill the deepest ring a few times.
void Simulator::layOutBarriers() {
  int stages = 1;
  size_t count = 0;
  for (const plan::Barrier &barrier : plan.barriers) {
    barrierBase.push_back(count);
    count += static_cast<size_t>(barrier.stages * barrier.instances);
    stages = std::max(stages, barrier.stages);
  }
  for (const plan::Buffer &buffer : plan.buffers)
    stages = std::max(stages, buffer.stages);
  mostTrips = std::max<int64_t>(24, 4 * stages + 8);
  const size_t slots = std::min(static_cast<size_t>(options.resident), tiles.size());
  barriers.assign(slots, std::vector<Phases>(count));
  slotTiles.resize(slots);
}

void Simulator::addProcesses(int slot) {
  for (size_t role = 0; role < program.roles.size(); ++role)
    for (int instance = 0; instance < program.roles[role].role->processes(); ++instance) {
      Process process;
      process.role = &program.roles[role];
      process.slot = slot;
      process.instance = instance;
      process.computes = role == program.computing;
      if (slot == 0 && options.timeline) {
        const plan::Role &it = *process.role->role;
        result.timeline.push_back({it.processes() > 1 ? fmt::format("{} {}", it.name, instance) : it.name, {}});
      }
      processes.push_back(std::move(process));
    }
}

/// Whose turn it is, of those who do not wait; null: nobody's. `others`: when the next one's is.
Process *Simulator::earliest(double &others) {
  Process *first = nullptr;
  others = HUGE_VAL;
  for (Process &process : processes) {
    if (process.done || process.blocked)
      continue;
    if (!first || process.now < first->now) {
      others = first ? std::min(others, first->now) : others;
      first = &process;
    } else {
      others = std::min(others, process.now);
    }
  }
  return first;
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

Simulation Simulator::sumUp() {
  std::sort(result.ends.begin(), result.ends.end());
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
    result.finished = std::max(result.finished, process.virtualTime());
    result.waiting += process.tally.waiting;
    result.running += process.virtualTime();
    result.loopNs += process.loopNs;
    result.loopTrips += process.loopTrips;
  }
  for (double *each : {&result.waiting, &result.running})
    *each /= std::max(computing, 1.0);
  return std::move(result);
}

Simulation Simulator::run() {
  layOutBarriers();
  const int slots = static_cast<int>(barriers.size());
  for (int slot = 0; slot < slots; ++slot)
    addProcesses(slot);
  for (int slot = 0; slot < slots; ++slot) {
    slotTiles[static_cast<size_t>(slot)] = tilesTaken++;
    startSlot(slot, 0);
  }
  const auto isDone = [](const Process &process) { return process.done; };
  while (!std::all_of(processes.begin(), processes.end(), isDone)) {
    double others = 0;
    Process *next = earliest(others);
    if (!next) {
      force();
      continue;
    }
    // Others who wait may be let go meanwhile, at a time that is not before this one's.
    while (advance(*next) && next->now <= others) {
    }
  }
  return sumUp();
}

Simulation simulate(const Program &program, const Machine &machine, const Grid &grid, const plan::Inputs &inputs,
                    const std::vector<Tile> &tiles, const SimulationOptions &options) {
  if (tiles.empty())
    return {};
  return Simulator(program, machine, grid, inputs, tiles, options).run();
}

} // namespace tkc::cost
