// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums that the blocks of a cluster share out (split-K). Few tiles leave most multiprocessors idle, and each block
// alone with a long loop. With the key `split` a cluster has one tile: each block adds up its part of the loop, and
// then takes its share of the columns from the accumulators of all (SumSlices.h), or, where what follows does more than
// work on elements, the first one all of them and goes on alone. Sums that go by a maximum are scaled to the largest of
// all blocks before (OnlineParts.h). No workspace, no second kernel, and the same bits every time, as each adds in one
// order.
#pragma once

#include "backends/plan/grid/TileScheduler.h"

#include <string>

namespace tkc::planner {

/// As the key `split` says, shares out the loop of products of a plan of one tile a block, whose roles are lowered and
/// whose memory is not yet allocated, to clusters of as many blocks. `isShared`: warpgroups take tiles in turns, or a
/// role of its own adds. Returns what stands against it, else nothing.
std::string splitK(const TileScheduler &tiles, bool isShared, Placement &placement, plan::Plan &plan);

} // namespace tkc::planner
