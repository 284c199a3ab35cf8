// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of a block's accesses to global memory may touch what another of them writes. Nothing is said of what other
// blocks do, nor of other tiles of the grid: the language promises no order there.
#pragma once

#include "backends/plan/analysis/Nest.h"

namespace tkc::planner {

/// Accesses of a block's work that may touch what another of them, or another iteration, writes: slices that are not
/// shown to be apart. Threads make them, in the order of the program: no copy brings such a load ahead.
ir::OpSet findContested(const ir::Function &function, const Nest &nest);

/// Of these the stores that others may hand to the copy engine: they come after all that they meet, which are loads.
ir::OpSet findLastWrites(const ir::Function &function, const Nest &nest, const ir::OpSet &contested);

/// A load, a store or an atomic update.
bool isAccess(const ir::Op &op);

/// Whether it makes a difference which of the two comes first: one writes, and they do not both add.
bool isOrderSeen(const ir::Op &one, const ir::Op &other);

/// Whether a loop may have more than one iteration.
bool repeats(const ir::Op &loop);

} // namespace tkc::planner
