// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From one multiprocessor to the grid: how many tiles each takes, how long a tile is, and when the last is done.
#include "backends/cost/Reuse.h"
#include "backends/cost/Simulate.h"
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace tkc::cost {
namespace {

/// Of L2, that others' writes fill when a kernel starts, if they do.
constexpr double dirtyShare = 0.7;
/// Registers of a thread that hold no tiles: addresses, counters, temporaries.
constexpr int64_t otherRegisters = 24;
/// Of shared memory, that the hardware keeps for each block.
constexpr int64_t reservedShared = 1024;
/// Rounds of blocks that are simulated; more are alike.
constexpr int64_t rounds = 3;
/// Tiles that are scheduled one by one.
constexpr int64_t mostScheduled = 1 << 16;

int residentBlocks(const plan::Plan &plan, const arch::Description &arch) {
  const bool isNvidia = arch.language == arch::Language::Cuda;
  int64_t most = 32;
  most = std::min<int64_t>(most, arch.maxThreadsPerMultiprocessor / std::max(plan.threads, 1));
  if (plan.sharedBytes > 0)
    most = std::min(most, arch.sharedBytesPerMultiprocessor / (plan.sharedBytes + (isNvidia ? reservedShared : 0)));
  int64_t registers = 0;
  for (const plan::Role &role : plan.roles)
    registers =
        std::max<int64_t>(registers, role.registers > 0 ? role.registers : plan::registersAlive(role) + otherRegisters);
  // Registers are handed out to warps in eights; a role with its own share has had it from the others.
  const bool shares =
      std::any_of(plan.roles.begin(), plan.roles.end(), [](const plan::Role &role) { return role.registers > 0; });
  if (shares)
    registers = arch.registersPerMultiprocessor / std::max(plan.threads, 1) / 8 * 8;
  registers = std::clamp<int64_t>((registers + 7) / 8 * 8, 24, arch.maxRegistersPerThread);
  most = std::min(most, arch.registersPerMultiprocessor / (registers * std::max(plan.threads, 1)));
  return static_cast<int>(std::max<int64_t>(most, 1));
}

/// When the last of `costs` tiles is done. `claims`: each goes to the place that is free first; else round by round.
double makespan(const std::vector<double> &costs, size_t places, bool claims) {
  if (!claims) {
    std::vector<double> ends(places);
    for (size_t i = 0; i < costs.size(); ++i)
      ends[i % places] += costs[i];
    return *std::max_element(ends.begin(), ends.end());
  }
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  double last = 0;
  for (double cost : costs) {
    double start = 0;
    if (ends.size() == places) {
      start = ends.top();
      ends.pop();
    }
    last = std::max(last, start + cost);
    ends.push(start + cost);
  }
  return last;
}

class Estimator {
public:
  Estimator(const plan::Plan &plan, const arch::Description &arch, const CallShape &call, const Options &options)
      : plan(plan), arch(arch), call(call), options(options), inputs(inputsOf(plan, call)), grid(plan, inputs) {}

  Estimate run();

private:
  void simulateSample();
  void reckonGrid();

  const plan::Plan &plan;
  const arch::Description &arch;
  const CallShape &call;
  const Options &options;
  const plan::Inputs inputs;
  const Grid grid;
  Estimate result;
  Program program;
  std::vector<double> trips; ///< of the sample's tiles
  Simulation sample;
  int64_t places = 1; ///< multiprocessors, or clusters of them, that have tiles
  int64_t each = 1;   ///< tiles of the one that has most
  double scheduled = 0;
};

Estimate Estimator::run() {
  result.tiles = grid.size() * plan.cluster;
  if (grid.isRagged())
    result.assumptions.push_back("the extents of ragged axes are those of their first step");
  if (grid.size() == 0) {
    result.seconds = options.launch ? arch.rates.launchNs * 1e-9 : 0;
    return result;
  }
  places = std::min<int64_t>(grid.size(), std::max(arch.multiprocessors / plan.cluster, 1));
  each = (grid.size() + places - 1) / places;
  result.residentBlocks = static_cast<int>(std::min<int64_t>(residentBlocks(plan, arch), each));
  const int64_t sideBySide = places * result.residentBlocks;
  result.blocks =
      plan.grid.persistent && !plan.grid.claimed ? std::min(grid.size(), sideBySide) * plan.cluster : result.tiles;
  result.waves = static_cast<double>(grid.size()) / static_cast<double>(sideBySide);
  simulateSample();
  reckonGrid();
  return std::move(result);
}

void Estimator::simulateSample() {
  const Machine machine(arch, places * plan.cluster);
  program = compile(plan, machine);
  findReuse(program, grid, call, arch, places * result.residentBlocks);
  std::vector<Tile> tiles;
  const int64_t count = std::min(each, std::max<int64_t>(rounds * result.residentBlocks, 4));
  for (int64_t i = 0; i < count; ++i) {
    // Those of the first multiprocessor, spread over all that it takes.
    const int64_t number = std::min((each * i / count) * places, grid.size() - 1);
    tiles.push_back(grid.tile(number));
    trips.push_back(tripsOf(program, grid, tiles.back()));
  }
  SimulationOptions simulation;
  simulation.resident = result.residentBlocks;
  simulation.persistent = plan.grid.persistent;
  simulation.dirtyBytes = options.dirtyCache ? dirtyShare * static_cast<double>(arch.l2Bytes * arch.chiplets) /
                                                   static_cast<double>(places * plan.cluster)
                                             : 0;
  simulation.startNs = arch.rates.blockNs;
  simulation.timeline = options.timeline;
  simulation.call = &call;
  sample = simulate(program, machine, grid, inputs, tiles, simulation);
  if (sample.forced > 0)
    result.assumptions.push_back("some waits of the plan were not understood");
}

void Estimator::reckonGrid() {
  const auto count = static_cast<double>(trips.size());
  const double resident = result.residentBlocks;
  const double least = *std::min_element(trips.begin(), trips.end()),
               most = *std::max_element(trips.begin(), trips.end());
  double sampleTrips = 0, gridWeight = static_cast<double>(grid.size()), sampleWeight = count;
  for (double each : trips)
    sampleTrips += each;
  double span = sample.finished;
  // What a tile takes of its place's time, once there are others before and after it.
  double marginal = sample.finished * resident / count;
  if (sample.ends.size() > static_cast<size_t>(resident))
    marginal = (sample.ends.back() - sample.ends[static_cast<size_t>(resident) - 1]) * resident / (count - resident);
  if (least == most) {
    span += std::max(0.0, static_cast<double>(each) - count) * marginal / resident;
  } else {
    const double perTrip = sample.loopTrips > 0 ? sample.loopNs / sample.loopTrips : 0;
    const double fixed = std::max(0.0, (sample.finished * resident - sampleTrips * perTrip) / count);
    std::vector<double> costs;
    const int64_t scheduled = std::min(grid.size(), mostScheduled);
    std::map<std::vector<int64_t>, double> known;
    sampleWeight = gridWeight = 0;
    for (int64_t i = 0; i < scheduled; ++i) {
      const Tile tile = grid.tile(i);
      costs.push_back(fixed + perTrip * tripsOf(program, grid, tile));
      gridWeight += costs.back();
    }
    for (double each : trips)
      sampleWeight += fixed + perTrip * each;
    const auto all = static_cast<size_t>(places * result.residentBlocks);
    span = makespan(costs, all, !plan.grid.persistent || plan.grid.claimed);
    const double more = static_cast<double>(grid.size()) / static_cast<double>(scheduled);
    span *= more;
    gridWeight *= more;
    marginal = sampleWeight / count;
  }
  const double launch = options.launch ? arch.rates.launchNs : 0;
  const double ns = launch + span + arch.rates.memoryNs;
  result.seconds = ns * 1e-9;
  result.blockSeconds = marginal * 1e-9;
  result.firstSeconds = (sample.ends.empty() ? 0 : sample.ends.front()) * 1e-9;
  // Shares are averages over all multiprocessors and the whole time.
  const double scale = gridWeight / sampleWeight, perPlace = scale / std::max(arch.multiprocessors / plan.cluster, 1);
  for (size_t i = 0; i < numUnits; ++i)
    result.busy[i] = sample.busy[i] * perPlace / ns;
  const Machine machine(arch, places * plan.cluster);
  const double blocks = plan.cluster;
  result.memoryBytes = at(sample.busy, Unit::Memory) * scale * machine.memoryRate * blocks;
  result.l2Bytes = at(sample.busy, Unit::L2) * scale * machine.l2Rate * blocks;
  result.operations = 2 * sample.macs * scale * blocks;
  result.waiting = sample.running > 0 ? sample.waiting / sample.running : 0;
  result.timeline = std::move(sample.timeline);
}

} // namespace

Estimate estimate(const plan::Plan &plan, const arch::Description &arch, const CallShape &call,
                  const Options &options) {
  return Estimator(plan, arch, call, options).run();
}

} // namespace tkc::cost
