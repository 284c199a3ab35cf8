// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cost/Servers.h"

#include <algorithm>

namespace tkc::cost {
namespace {

/// Clocks from a product's last step to its result.
constexpr double productLatency = 60;
/// Of a byte written to memory, to one read: copying reaches 0.89 of the bandwidth of an H200, reading alone 0.92.
constexpr double writeCost = 1.07;

} // namespace

double Servers::serve(Unit unit, double ns, double from, Demand &mine) {
  double &busyUntil = free[static_cast<size_t>(unit)];
  busyUntil = std::max(busyUntil, from) + ns;
  at(mine, unit) += ns;
  return busyUntil;
}

/// Vector work of `ns` that begins at `from`, as long as it takes beside the products that were asked for so far. At
/// their full rate multiply-adds take every slot in which something could issue: what they lose is slots, whatever
/// would have issued there.
double Servers::besideProducts(Unit unit, double ns, double from) const {
  const arch::Rates &rates = machine.arch.rates;
  const double lost = unit == Unit::MultiplyAdd || unit == Unit::Issue ? rates.multiplyAddsLost
                      : unit == Unit::Simple                           ? rates.simpleLost
                      : unit == Unit::Special                          ? rates.specialLost
                                                                       : 0;
  const double together = std::min(std::max(0.0, idleFrom(Unit::Matrix) - from), ns / (1 - lost));
  return ns + together * lost;
}

double Servers::work(const Demand &demand, double from, Demand &mine) {
  double end = from;
  for (size_t i = 0; i < numUnits; ++i) {
    if (demand[i] <= 0)
      continue;
    const auto unit = static_cast<Unit>(i);
    const double begin = std::max(from, idleFrom(unit));
    const double longer = besideProducts(unit, demand[i], begin) - demand[i];
    free[i] = begin + longer;
    end = std::max(end, serve(unit, demand[i], begin + longer, mine));
  }
  return end;
}

double Servers::product(double ns, double from, Demand &mine) {
  return serve(Unit::Matrix, ns, from, mine) + machine.clocks(productLatency);
}

double Servers::transfer(const Traffic &traffic, double from, Tally &mine) {
  const double asked =
      traffic.bytes * std::max(1.0, traffic.requests) * (1 - machine.arch.rates.l2Joined * traffic.joined);
  const double stored = traffic.bytes * (traffic.writes > 1 ? traffic.writes / machine.sectorRate
                                                            : (1 - traffic.missing) / machine.storeRate +
                                                                  traffic.missing / machine.fillRate);
  double end = traffic.toMemory ? serve(Unit::Stores, stored, from, mine.busy)
                                : serve(Unit::L2, asked / machine.l2Rate, from, mine.busy);
  const double ns = traffic.bytes * traffic.missing / machine.memoryRate * (traffic.toMemory ? writeCost : 1) *
                    (traffic.updates ? 2 : 1);
  // What L2 takes goes to memory when nobody reads there; that the whole fits is for the grid to see.
  if (traffic.toMemory) {
    at(mine.busy, Unit::Memory) += ns;
  } else if (ns > 0) {
    end = std::max(end, serve(Unit::Memory, ns, from, mine.busy));
    mine.reading += ns;
  }
  mine.l2Bytes += traffic.bytes;
  return end + (traffic.missing > 0.02 ? machine.memoryNs : machine.l2Ns);
}

} // namespace tkc::cost
