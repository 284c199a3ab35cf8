// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One multiprocessor in numbers, and the time that work takes on its units.
#pragma once

#include "backends/cost/Cost.h"
#include "backends/targets/Description.h"

#include <array>

namespace tkc::cost {

/// Nanoseconds on each unit.
using Demand = std::array<double, numUnits>;

inline double &at(Demand &demand, Unit unit) { return demand[static_cast<size_t>(unit)]; }
inline double at(const Demand &demand, Unit unit) { return demand[static_cast<size_t>(unit)]; }
void add(Demand &sum, const Demand &other, double times = 1);

/// What statements ask of a multiprocessor, in operations of threads.
struct Work {
  double multiplyAdds = 0, simple = 0, special = 0, shuffles = 0;
  double others = 0;       ///< that only take a place in the queue: moves, addresses, accesses to memory
  double sharedBytes = 0;  ///< shared memory and L1
  double tensorValues = 0; ///< to and from tensor memory
  double matrixClocks = 0;

  Work &operator+=(const Work &other);
  /// Of all threads together. A special function, like a shuffle, takes the place of one among the others.
  double instructions() const { return multiplyAdds + simple + special + shuffles + others; }
};

struct Machine {
  /// `active`: multiprocessors that have blocks, which share L2 and memory.
  /// `clockShare`: of the highest clock, that power allows.
  Machine(const arch::Description &arch, int64_t active, double clockShare = 1);

  const arch::Description &arch;
  double clock;          ///< GHz
  double l2Rate;         ///< bytes a nanosecond to this multiprocessor
  double storeRate;      ///< and from it
  double fillRate;       ///< the same, of what L2 does not hold yet
  double sectorRate;     ///< and of sectors that are written in parts
  double memoryRate;     ///< bytes a nanosecond of this multiprocessor's share
  double l2Ns, memoryNs; ///< from a request to what it brings

  double clocks(double count) const { return count / clock; } ///< in nanoseconds
  Demand demandOf(const Work &work) const;
  /// Clocks of products of `macs` multiply-adds that read `sharedBytes` of operands.
  double matrixClocks(ElemType a, ElemType b, bool scaled, double macs, double sharedBytes) const;
};

} // namespace tkc::cost
