// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The units of a multiprocessor as queues: whoever comes first is served first, at the unit's rate.
#pragma once

#include "backends/cost/Process.h"

#include <algorithm>
#include <array>

namespace tkc::cost {

class Servers {
public:
  explicit Servers(const Machine &machine) : machine(machine) {}

  /// Vector work that is ready at `from`; all its units work at once. When the last of them is done.
  double work(const Demand &demand, double from, Demand &mine);
  /// When a product that is ready at `from` has its result.
  double product(double ns, double from, Demand &mine);
  /// When the bytes are there (a store's: taken).
  double transfer(const Traffic &traffic, double from, Tally &mine);
  /// When a unit has done what it was asked so far.
  double idleFrom(Unit unit) const { return free[static_cast<size_t>(unit)]; }

private:
  double besideProducts(Unit unit, double ns, double from) const;
  double serve(Unit unit, double ns, double from, Demand &mine);

  const Machine &machine;
  std::array<double, numUnits> free{};
};

} // namespace tkc::cost
