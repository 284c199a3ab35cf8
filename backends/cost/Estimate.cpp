// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From one multiprocessor to the grid: how many tiles each takes, how long a tile is, and when the last is done.
#include "backends/cost/Reuse.h"
#include "backends/cost/Simulate.h"
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>

namespace tkc::cost {
namespace {

/// Of L2, that others' writes fill when a kernel starts, if they do.
constexpr double dirtyShare = 0.7;
/// Of shared memory, that the hardware keeps for each block.
constexpr int64_t reservedShared = 1024;
/// Rounds of blocks that are simulated; more are alike.
constexpr int64_t rounds = 3;
/// Tiles that are scheduled one by one.
constexpr int64_t mostScheduled = 1 << 14;
/// Products of 8 bits and less draw so much more: on the H200 they leave a clock of 1.60 instead of 1.76 GHz.
constexpr double narrowPower = 1.7;
/// The clock follows from what the units do, which follows from the clock.
constexpr int passes = 2;

int residentBlocks(const plan::Plan &plan, const arch::Description &arch) {
  const bool isNvidia = arch.language == arch::Language::Cuda;
  int64_t most = 32;
  most = std::min<int64_t>(most, arch.maxThreadsPerMultiprocessor / std::max(plan.threads, 1));
  if (plan.sharedBytes > 0)
    most = std::min(most, arch.sharedBytesPerMultiprocessor / (plan.sharedBytes + (isNvidia ? reservedShared : 0)));
  int64_t registers = 0;
  for (const plan::Role &role : plan.roles)
    registers = std::max<int64_t>(registers, role.registers > 0 ? role.registers
                                                                : plan::registersAlive(role) + plan::otherRegisters);
  // Registers are handed out to warps in eights; a role with its own share has had it from the others, unless all have
  // the same.
  const bool shares = std::any_of(plan.roles.begin(), plan.roles.end(), [&](const plan::Role &role) {
    return role.registers > 0 && role.registers != plan.roles.front().registers;
  });
  if (shares)
    return plan.blocksAtOnce(arch.registersPerMultiprocessor, arch.sharedBytesPerMultiprocessor);
  registers = std::clamp<int64_t>((registers + 7) / 8 * 8, 24, arch.maxRegistersPerThread);
  most = std::min(most, arch.registersPerMultiprocessor / (registers * std::max(plan.threads, 1)));
  return static_cast<int>(std::max<int64_t>(most, 1));
}

/// When the last of `costs` tiles is done. `dynamic`: each goes to the place that is free first; else round by round.
double makespan(const std::vector<double> &costs, size_t places, bool dynamic) {
  if (!dynamic) {
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
  void simulateSample(double clockShare, bool isLast);
  void chooseSample(Trips &trips);
  void reckonGrid(Trips &trips, double clockShare);
  /// Of tiles that differ in trips, in ns of a place: by those behind the first, whose beginning nothing hides; what
  /// that takes longer is there once. `marginal`: what one takes, once there are others before and after it.
  struct TileCost {
    double perTrip = 0, fixed = 0, once = 0;
  };
  TileCost costOfTiles(double marginal) const;
  double writingOthers(double span, double perPlace) const;
  double clockShare() const;

  const plan::Plan &plan;
  const arch::Description &arch;
  const CallShape &call;
  const Options &options;
  const plan::Inputs inputs;
  const Grid grid;
  Estimate result;
  Program program;
  std::vector<Tile> tiles; ///< the sample
  std::vector<double> sampleTrips;
  std::vector<double> gridTrips; ///< where they differ: of the tiles that are scheduled one by one
  Simulation sample;
  int64_t places = 1; ///< multiprocessors, or clusters of them, that have tiles
  int64_t each = 1;   ///< tiles of the one that has most
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
      plan.grid.persistent && !plan.grid.dynamic ? std::min(grid.size(), sideBySide) * plan.cluster : result.tiles;
  result.waves = static_cast<double>(grid.size()) / static_cast<double>(sideBySide);
  program = compile(plan, Machine(arch, places * plan.cluster), call);
  Trips trips(program, grid);
  chooseSample(trips);
  double share = 1;
  for (int pass = 0; pass < passes; ++pass) {
    simulateSample(share, pass + 1 == passes);
    reckonGrid(trips, share);
    if (pass + 1 < passes)
      share = clockShare();
  }
  return std::move(result);
}

/// Tiles of one multiprocessor. Where trips differ, some of every length.
void Estimator::chooseSample(Trips &trips) {
  const int64_t count = std::min(each, std::max<int64_t>(rounds * result.residentBlocks, 4));
  std::vector<int64_t> numbers;
  if (trips.areEqual()) {
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(std::min(i * places, grid.size() - 1));
  } else {
    for (int64_t i = 0; i < std::min(grid.size(), mostScheduled); ++i)
      gridTrips.push_back(trips.of(grid.tile(i)));
    std::vector<int64_t> order(gridTrips.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return gridTrips[static_cast<size_t>(a)] > gridTrips[static_cast<size_t>(b)];
    });
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(order[static_cast<size_t>((2 * i + 1) * static_cast<int64_t>(order.size()) / (2 * count))]);
  }
  for (int64_t number : numbers) {
    tiles.push_back(grid.tile(number));
    sampleTrips.push_back(trips.of(tiles.back()));
  }
}

void Estimator::simulateSample(double clockShare, bool isLast) {
  const Machine machine(arch, places * plan.cluster, clockShare);
  program = compile(plan, machine, call);
  findReuse(program, grid, call, arch, places * result.residentBlocks);
  SimulationOptions simulation;
  simulation.resident = result.residentBlocks;
  simulation.persistent = plan.grid.persistent;
  simulation.startNs = arch.rates.blockNs;
  simulation.timeline = options.timeline && isLast;
  simulation.coldCode = options.first;
  simulation.call = &call;
  sample = simulate(program, machine, grid, inputs, tiles, simulation);
  if (sample.forced > 0 && isLast)
    result.assumptions.push_back("some waits of the plan were not understood");
}

/// What L2 holds of others' writes goes to memory as this kernel's bytes take its place: the time by which that holds
/// it up.
double Estimator::writingOthers(double span, double perPlace) const {
  const double all = at(sample.busy, Unit::Memory) * perPlace;
  if (!options.first || !options.dirtyCache || all <= 0)
    return 0;
  const Machine machine(arch, places * plan.cluster);
  const double bytes = all * machine.memoryRate * static_cast<double>(places * plan.cluster);
  const double dirty = std::min(bytes, dirtyShare * static_cast<double>(arch.l2Bytes * arch.chiplets));
  const double busy = all / span, reading = sample.reading * perPlace / span;
  return span * dirty / bytes * std::max(0.0, busy + reading - 1);
}

/// Of the clock, that the units' shares leave.
double Estimator::clockShare() const {
  const arch::Rates &rates = arch.rates;
  bool isNarrow = false;
  for (const plan::Role &role : plan.roles)
    plan::walk(role.body, [&](const plan::Stmt &stmt) {
      const plan::Buffer *operand = stmt.kind == plan::StmtKind::Product ? plan.findBuffer(stmt.ref.buffer) : nullptr;
      isNarrow |= operand && bitWidth(operand->elem) <= 8;
    });
  const double drop = rates.matrixDrop * (isNarrow ? narrowPower : 1) * result.share(Unit::Matrix) +
                      rates.l2Drop * result.share(Unit::L2) + rates.memoryDrop * result.share(Unit::Memory);
  const double ns = result.seconds * 1e9, sustained = std::max(0.0, 1 - rates.sustainedNs / ns);
  return 1 - drop * (1 + sustained * (rates.sustainedDrop - 1));
}

Estimator::TileCost Estimator::costOfTiles(double marginal) const {
  const double resident = result.residentBlocks;
  const size_t first = sample.ends.size() > static_cast<size_t>(resident) ? static_cast<size_t>(resident) : 0;
  const auto trips = [&](size_t from) {
    return std::accumulate(sampleTrips.begin() + static_cast<long>(from), sampleTrips.end(), 0.0);
  };
  const auto count = static_cast<double>(tiles.size()), others = count - static_cast<double>(first);
  TileCost cost;
  cost.perTrip = sample.loopTrips > 0 ? sample.loopNs / sample.loopTrips : 0;
  const double spent = first > 0 ? marginal * others : sample.finished * resident;
  cost.fixed = std::max(0.0, (spent - trips(first) * cost.perTrip) / others);
  cost.once = std::max(0.0, sample.finished - (cost.fixed * count + trips(0) * cost.perTrip) / resident);
  return cost;
}

void Estimator::reckonGrid(Trips &trips, double clockShare) {
  const auto count = static_cast<double>(tiles.size());
  const double resident = result.residentBlocks;
  double gridWeight = static_cast<double>(grid.size()), sampleWeight = count;
  double span = sample.finished;
  // What a tile takes of its place's time, once there are others before and after it.
  double marginal = sample.finished * resident / count;
  if (sample.ends.size() > static_cast<size_t>(resident))
    marginal = (sample.ends.back() - sample.ends[static_cast<size_t>(resident) - 1]) * resident / (count - resident);
  if (trips.areEqual()) {
    span += std::max(0.0, static_cast<double>(each) - count) * marginal / resident;
  } else {
    const auto [perTrip, fixed, once] = costOfTiles(marginal);
    std::vector<double> costs;
    for (double trips : gridTrips)
      costs.push_back(fixed + perTrip * trips);
    const double more = static_cast<double>(grid.size()) / static_cast<double>(costs.size());
    span = more * makespan(costs, static_cast<size_t>(places * result.residentBlocks),
                           !plan.grid.persistent || plan.grid.dynamic) +
           once;
    gridWeight = more * std::accumulate(costs.begin(), costs.end(), 0.0);
    sampleWeight = fixed * count + perTrip * std::accumulate(sampleTrips.begin(), sampleTrips.end(), 0.0);
    marginal = sampleWeight / count;
  }
  // Shares are averages over all multiprocessors and the whole time.
  const double scale = gridWeight / sampleWeight;
  // A few tiles may leave work in the queues that more of them have to wait for.
  span =
      std::max(span, *std::max_element(sample.busy.begin(), sample.busy.end()) * scale / static_cast<double>(places));
  span += writingOthers(span, scale / static_cast<double>(places));
  const double ns = (options.launch ? arch.rates.launchNs : 0) + span + arch.rates.memoryNs;
  result.seconds = ns * 1e-9;
  result.blockSeconds = marginal * 1e-9;
  result.firstSeconds = (sample.ends.empty() ? 0 : sample.ends.front()) * 1e-9;
  const double perPlace = scale / std::max(arch.multiprocessors / plan.cluster, 1);
  for (size_t i = 0; i < numUnits; ++i)
    result.busy[i] = sample.busy[i] * perPlace / ns;
  const Machine machine(arch, places * plan.cluster, clockShare);
  result.memoryBytes = at(sample.busy, Unit::Memory) * scale * machine.memoryRate * plan.cluster;
  result.l2Bytes = sample.l2Bytes * scale * plan.cluster;
  result.operations = 2 * sample.macs * scale * plan.cluster;
  result.waiting = sample.running > 0 ? sample.waiting / sample.running : 0;
  result.timeline = std::move(sample.timeline);
  result.clockMHz = arch.clockMHz * clockShare;
}

} // namespace

Estimate estimate(const plan::Plan &plan, const arch::Description &arch, const CallShape &call,
                  const Options &options) {
  return Estimator(plan, arch, call, options).run();
}

} // namespace tkc::cost
