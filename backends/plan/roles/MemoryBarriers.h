// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block sees its own stores in order. Where accesses to global memory may meet (MemoryDependence.h), a barrier of its
// threads has to stand between them so that they come one after the other.
//   y[m, n] = e;  …  y[m, n] / s     the same threads hold the same elements: nothing is needed
//   x[i] = w;     …  x[i].col        one thread stores an element, and several load it: a barrier before the load
#pragma once

#include "backends/plan/analysis/Nest.h"

namespace tkc::planner {

struct Placement;

struct MemoryOrder {
  ir::OpSet barrierBefore; ///< accesses and loops
  /// Loads of what several threads hold, where only those that store it use it: the others do not load.
  ir::OpSet ownLoads;
};

/// `placement` says which threads hold what.
MemoryOrder orderMemory(const ir::Function &function, const Nest &nest, const Placement &placement);

} // namespace tkc::planner
