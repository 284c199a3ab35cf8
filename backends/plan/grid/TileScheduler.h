// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How blocks take the tiles of the grid: one each, or one after the other (a persistent grid), and in which groups, so
// that blocks of one time share what lies in L2.
#pragma once

#include "backends/plan/grid/TileOrder.h"
#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// Asked while the plan is made: it refers to what others fill in meanwhile.
struct TileScheduler {
  const arch::Description &arch;
  const Schedule &schedule;
  const Nest &nest;
  const Placement &placement;
  const TileLengths &lengths;
  const plan::Plan &plan;

  /// A loop of products alone, on tiles of a grid whose ranges are known at launch.
  bool isFlat() const;
  /// Whether blocks take tile after tile, unless a loop turns out to issue products an iteration late.
  bool takesTilesInTurn() const;
  /// Whether a warp beside those that load can ask for tiles. Without cluster launch control the blocks of a cluster
  /// would each count for themselves.
  bool canTakeDynamicTiles() const;
  /// Tiles of different lengths, of which a block takes the next when it is done with one: what begins and ends a tile
  /// then lies behind the work of others. Where products are in tensor memory a block is bound to its columns.
  bool sharesOutUneven() const;

  /// Whether the tiles of a counted grid will stand in groups from long to short, of which long and short ones make
  /// pairs.
  bool canPair(const plan::Grid &grid) const;

  /// When all roles are lowered: whether the grid is persistent, and in which order its tiles are taken. `overlapped`:
  /// a loop issues products an iteration late.
  void settle(plan::Plan &plan, Placement &placement, bool overlapped) const;

private:
  bool hasLoopLoads() const;
  /// Then blocks have loops of their own to hide behind, and no register to spare for a walk over the grid.
  bool hasVectorWorkInLoops() const;
  plan::Uncounted withoutCounter(const plan::Grid &grid) const;
  void spreadUneven(plan::Grid &grid) const;
  void noteGrid(Placement &placement, bool loops, bool overlapped) const;
  std::string whyRaster() const;
  std::string whyUncounted() const;
  std::string whyPersistent(bool loops, bool overlapped) const;
};

} // namespace tkc::planner
