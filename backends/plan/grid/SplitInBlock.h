// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums that the computing warpgroups of one block share out. With few rows a tile is one warpgroup's: it waits for a
// stage, widens what it loads, multiplies, and waits for the product, one after the other. With the key
// `split_in_block` several take the iterations of the loop in turns, each with accumulators of its own, so that one
// computes while others wait. A stage of a ring is one warpgroup's alone, and its cursors pass by those of the others
// at once. At the end all but the first leave their sums in shared memory; the first adds them to its own, in one
// order, and has the rest of the tile for itself.
#pragma once

#include "backends/plan/grid/TileScheduler.h"

#include <string>

namespace tkc::planner {

/// How many warpgroups share the loop of a tile out, as the key says; 1: there is nothing to share. With `why` where it
/// cannot be. What each of them stages in the loop it then stages for itself.
int chooseSplitInBlock(const TileScheduler &tiles, Placement &placement, std::string &why);

/// Makes a role that computes with one warpgroup, and is synchronised, one of so many that share the loop out. What
/// they leave their sums in is placed in the memory of rings, if there is place. Returns what stands against it, else
/// nothing.
std::string splitInBlock(plan::Role &role, int warpgroups, Placement &placement);

} // namespace tkc::planner
