// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
#include "backends/cost/Servers.h"

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

double Servers::work(const Demand &demand, double from, Demand &mine) {
  double end = from;
  for (size_t i = 0; i < numUnits; ++i)
    if (demand[i] > 0)
      end = std::max(end, serve(static_cast<Unit>(i), demand[i], from, mine));
  return end;
}

double Servers::product(double ns, double from, Demand &mine) {
  const double begin = std::max(from, idleFrom(Unit::Matrix));
  const double end = serve(Unit::Matrix, ns, from, mine);
  // What others of the units' time is lost beside it.
  const arch::Rates &rates = machine.arch.rates;
  const std::pair<Unit, double> lost[] = {{Unit::MultiplyAdd, rates.multiplyAddsLost},
                                          {Unit::Simple, rates.simpleLost},
                                          {Unit::Special, rates.specialLost}};
  for (const auto &[unit, share] : lost)
    if (share > 0)
      free[static_cast<size_t>(unit)] = std::max(free[static_cast<size_t>(unit)], begin) + share * ns;
  return end + machine.clocks(productLatency);
}

double Servers::transfer(const Traffic &traffic, double from, Tally &mine) {
  double end =
      serve(Unit::L2, traffic.bytes / (traffic.toMemory ? machine.storeRate : machine.l2Rate), from, mine.busy);
  const double ns = traffic.bytes * traffic.missing / machine.memoryRate * (traffic.toMemory ? writeCost : 1);
  if (ns > 0)
    end = std::max(end, serve(Unit::Memory, ns, from, mine.busy));
  mine.l2Bytes += traffic.bytes;
  if (!traffic.toMemory)
    mine.reading += ns;
  return end + (traffic.missing > 0.02 ? machine.memoryNs : machine.l2Ns);
}

} // namespace tkc::cost
