// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two computing warpgroups that take the block's tiles in turns, each a whole one: while one does what follows its
// products, the other's keep the matrix engine busy.
//
// The role is that of one warpgroup, planned as ever. Its instances run the body for every second tile, and for the
// others only move their cursors on. The rings serve them one after the other, and so a barrier, `tile.turn`, lets an
// instance wait for its first stage only when the other has found its last: a wait that came earlier could take the
// phase of another round for its own. A stage of that barrier is of one instance, whose warps arrive there each for
// itself; `tile.next` counts one tile ahead, so that its stage in the round before is that of the tile before.
#pragma once

#include "backends/plan/grid/TileScheduler.h"

#include <string>
#include <vector>

namespace tkc::planner {

/// Whether the key `pingpong` asks for it; then what is staged on the way out is staged by each warpgroup for itself.
/// `why`: what stands against it.
bool choosePingPong(const TileScheduler &tiles, Placement &placement, std::string &why);

/// Makes the synchronised computing role, of one instance, one of two that take turns, and adds their barrier to
/// `barriers`. `scratch`: what its reductions and transpositions go through. Returns why it cannot be, or nothing.
std::string takeTurns(plan::Role &role, const std::vector<plan::Buffer> &scratch, std::vector<plan::Barrier> &barriers);

} // namespace tkc::planner
