// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of a persistent grid that blocks take one after the other, whichever is left: by cluster launch control as many
// blocks are launched as there are tiles, and those that run take over the tiles of those that have not started;
// without it a counter in global memory says which is next. A role of one thread asks, a tile or two ahead of who
// computes; all roles read the answer from a ring.
#pragma once

#include "backends/plan/grid/TileScheduler.h"

namespace tkc::planner {

/// The buffer for answers, where blocks take tiles so, by default or as the key `claim_tiles` says; else empty. `why`:
/// what stands against what the key asks for.
std::string chooseDynamicTiles(const TileScheduler &tiles, Placement &placement, plan::Grid &grid, std::string &why);

/// When the next tile is asked for: as soon as there is place for the answer; when the loading role comes to the loops
/// of a tile; to the last of them; when it is done with that. Where lengths change from tile to tile, those that blocks
/// hold and have not begun are what others have no share of at the grid's end.
enum class Ask : uint8_t { Ahead, BeforeLoops, BeforeLastLoop, WhenLoaded };
Ask whenToAsk(const TileScheduler &tiles);

/// Makes every role go on with the tile that the answer in `buffer` names, and returns the role that asks, which is
/// warp `firstWarp`. `blocks`: of a cluster, whose first one asks for all. The first of `roles` is the one that loads.
plan::Role lowerDynamicTiles(const std::string &buffer, int firstWarp, int blocks, Ask when,
                             std::vector<plan::Role> &roles, std::vector<plan::Barrier> &barriers);

} // namespace tkc::planner
