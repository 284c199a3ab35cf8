// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block sees its own stores in order. Which of its accesses to global memory may touch what another of them writes,
// and where a barrier of its threads has to stand so that they come one after the other.
//   y[m, n] = e;  …  y[m, n] / s     the same threads hold the same elements: nothing is needed
//   x[i] = w;     …  x[i].col        one thread stores an element, and several load it: a barrier before the load
// Nothing is said of what other blocks do, nor of other tiles of the grid: the language promises no order there.
#pragma once

#include "backends/plan/analysis/Nest.h"

#include <set>

namespace tkc::planner {

struct Placement;

/// Accesses of a block's work that may touch what another of them, or another iteration, writes: slices that are not
/// shown to be apart. Threads make them, in the order of the program: no copy brings such a load ahead.
ir::OpSet findContested(const ir::Function &function, const Nest &nest);

/// Of these the stores that others may hand to the copy engine: they come after all that they meet, which are loads.
ir::OpSet findLastWrites(const ir::Function &function, const Nest &nest, const ir::OpSet &contested);

struct MemoryOrder {
  ir::OpSet barrierBefore; ///< accesses and loops
  /// Loads of what several threads hold, where only those that store it use it: the others do not load.
  ir::OpSet ownLoads;
};

/// `placement` says which threads hold what.
MemoryOrder orderMemory(const ir::Function &function, const Nest &nest, const Placement &placement);

} // namespace tkc::planner
