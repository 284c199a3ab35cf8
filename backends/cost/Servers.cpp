// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
#include "backends/cost/Servers.h"

namespace tkc::cost {
namespace {

/// Clocks from a product's last step to its result.
constexpr double productLatency = 60;

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
  return serve(Unit::Matrix, ns, from, mine) + machine.clocks(productLatency);
}

double Servers::transfer(const Traffic &traffic, double from, Demand &mine) {
  double fromMemory = traffic.bytes * traffic.missing;
  // What is brought in takes the place of what has to be written first. A store's own line does that anyway.
  const double written = std::min(dirtyBytes, traffic.toMemory ? traffic.bytes : fromMemory);
  dirtyBytes -= written;
  if (!traffic.toMemory)
    fromMemory += written;
  double end = serve(Unit::L2, traffic.bytes / machine.l2Rate, from, mine);
  if (fromMemory > 0)
    end = std::max(end, serve(Unit::Memory, fromMemory / machine.memoryRate, from, mine));
  return end + (traffic.missing > 0.02 ? machine.memoryNs : machine.l2Ns);
}

} // namespace tkc::cost
