// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dynamic tiles: a block that is done with a tile takes whichever is left, instead of one that the launch fixed. With
// cluster launch control, the launch has as many blocks as there are tiles, and a block that runs takes the tile of one
// that has not started. Without it, the launch has as many blocks as run at once, and a counter in global memory
// says which tile is next. One thread, in a role of its own, asks for the next tile while the block still computes the
// one before it, or the one before that. All roles read the answer from a ring in shared memory.
#pragma once

#include "backends/plan/grid/TileScheduler.h"

namespace tkc::planner {

/// The buffer for answers, where blocks take tiles so, by default or as the key `claim_tiles` says; else empty. `why`:
/// what stands against what the key asks for.
std::string chooseDynamicTiles(const TileScheduler &tiles, Placement &placement, plan::Grid &grid, std::string &why);

/// When a block asks for its next tile. Ahead: as soon as the ring has place for the answer. The others wait for the
/// loading role: until it comes to the first loop of the tile before, until it comes to the last loop, or until it is
/// done with that. Asking late pays where tiles take different times: a tile that a block has asked for and not begun
/// is one that no other block can take, even if that has nothing left to do at the end of the grid.
enum class Ask : uint8_t { Ahead, BeforeLoops, BeforeLastLoop, WhenLoaded };
Ask whenToAsk(const TileScheduler &tiles);

/// Makes every role go on with the tile that the answer in `buffer` names, and returns the role that asks, which is
/// warp `firstWarp`. `blocks`: of a cluster, whose first one asks for all. The first of `roles` is the one that loads.
plan::Role lowerDynamicTiles(const std::string &buffer, int firstWarp, int blocks, Ask when,
                             std::vector<plan::Role> &roles, std::vector<plan::Barrier> &barriers);

} // namespace tkc::planner
