// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/TileScheduler.h"

#include "ir/Products.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

/// The next tile's copies go where the last one's products may still read.
void meetBeforeTiles(plan::Plan &plan) {
  const plan::Stmt meet(plan::Sync{0, plan.threads}, plan.loc);
  plan.roles.front().body.insert(plan.roles.front().body.begin(), meet);
}

bool endsWithTwoTiledAxes(const plan::Grid &grid) {
  const std::vector<plan::GridAxis> &axes = grid.axes;
  return axes.size() >= 2 && axes.back().tileSize > 0 && axes[axes.size() - 2].tileSize > 0;
}

/// A raster group counts clusters: how many of their blocks stand one below the other.
int blocksInColumn(const plan::Plan &plan) {
  const std::vector<plan::GridAxis> &axes = plan.grid.axes;
  return plan.blocksAlong(axes[axes.size() - 2].name);
}

} // namespace

bool TileScheduler::isFlat() const {
  return placement.hasProducts && hasLoopLoads() && !nest.isRagged() && !hasVectorWorkInLoops();
}

bool TileScheduler::takesTilesInTurn() const {
  const bool splits = schedule.split.value_or(1) > 1 || schedule.splitInBlock.value_or(1) > 1;
  return schedule.persistent.value_or(!splits && ((isFlat() && !placement.copiesItself) || sharesOutUneven())) ||
         nest.isRagged();
}

bool TileScheduler::canTakeDynamicTiles() const {
  const bool counts = plan.cluster == 1 && plan.grid.axes.size() <= plan::Grid::mostCountedAxes;
  return !placement.rings.empty() && !placement.copiesItself && (arch.hasClusterLaunchControl || counts);
}

bool TileScheduler::sharesOutUneven() const {
  return lengths.differ && canTakeDynamicTiles() && !placement.usesTensorMemory() && schedule.claimTiles.value_or(true);
}

bool TileScheduler::canPair(const plan::Grid &grid) const {
  return lengths.differ && (grid.axes.size() == 2 || !endsWithTwoTiledAxes(grid));
}

/// Pairs end together where they are equally long, and turns where tiles are. Else the GPU gives tiles to
/// multiprocessors that are free.
plan::Uncounted TileScheduler::withoutCounter(const plan::Grid &grid) const {
  if (schedule.captured)
    return static_cast<plan::Uncounted>(*schedule.captured);
  return lengths.equal                     ? plan::Uncounted::Turns
         : lengths.pairUp && canPair(grid) ? plan::Uncounted::Pairs
                                           : plan::Uncounted::Apart;
}

bool TileScheduler::hasLoopLoads() const {
  return std::any_of(placement.rings.begin(), placement.rings.end(),
                     [](const RingPlacement &ring) { return ring.depth > 0; });
}

bool TileScheduler::hasVectorWorkInLoops() const {
  bool found = false;
  walkTile(nest, [&](const ir::Op &op, int depth) {
    const bool isWork = !ir::isProduct(op) && op.kind != ir::OpKind::Transpose && op.kind != ir::OpKind::Load &&
                        op.kind != ir::OpKind::For;
    found |= depth > 0 && isWork && op.results.size() == 1 && op.result()->type.isTile();
  });
  return found;
}

void TileScheduler::settle(plan::Plan &plan, Placement &placement, bool overlapped) const {
  const bool loops = hasLoopLoads();
  const bool flat = isFlat() && !overlapped;
  plan.grid.persistent =
      takesTilesInTurn() && (schedule.persistent || plan.grid.ragged || plan.grid.dynamic || !overlapped);
  if (placement.copiesItself && plan.grid.persistent)
    meetBeforeTiles(plan);
  const bool rasters = plan.grid.persistent || (flat && (placement.copiesItself || schedule.raster));
  if (rasters && endsWithTwoTiledAxes(plan.grid) && !plan.grid.ragged)
    plan.grid.rasterGroup = static_cast<int>(schedule.raster.value_or(8 / blocksInColumn(plan)));
  if (placement.copiesItself && loops && arch.chiplets > 1 && !plan.grid.persistent && !plan.grid.ragged)
    plan.grid.chiplets = arch.chiplets;
  if (lengths.differ && (!plan.grid.persistent || plan.grid.dynamic) && plan.grid.rasterGroup == 0 &&
      plan.grid.chiplets == 1 && plan.cluster == 1)
    spreadUneven(plan.grid);
  if (plan.grid.counted)
    plan.grid.uncounted = withoutCounter(plan.grid);
  noteGrid(placement, loops, overlapped);
}

/// The longest tiles of several steps of the outer axes go first, then their shorter ones: what is left for the end
/// of the grid is short, and blocks of one time still share what they load. With one step after the other, the last
/// blocks would be whole sequences of tiles from long to short.
void TileScheduler::spreadUneven(plan::Grid &grid) const {
  grid.rasterGroup = static_cast<int>(schedule.raster.value_or(16));
  grid.rasterAxes = static_cast<int>(grid.axes.size()) - 1;
}

void TileScheduler::noteGrid(Placement &placement, bool loops, bool overlapped) const {
  placement.note(plan::Note::Grid, {},
                 (plan.grid.counted      ? "persistent, a block takes the next tile that a counter says is left: "
                  : plan.grid.dynamic    ? "persistent, a block takes over tiles of blocks that have not started: "
                  : plan.grid.persistent ? "persistent, a block takes tile after tile: "
                                         : "one block a tile: ") +
                     whyPersistent(loops, overlapped));
  if (plan.grid.rasterGroup > 0)
    placement.note(plan::Note::Grid, {},
                   fmt::format("{}: {}", whyRaster(), schedule.raster ? "as the schedule says" : "the default"));
  if (plan.grid.counted)
    placement.note(plan::Note::Grid, {}, "a launch without a counter, as one that is captured: " + whyUncounted());
  if (plan.grid.chiplets > 1)
    placement.note(plan::Note::Grid, {},
                   fmt::format("blocks go around {} dies; tiles that follow each other share operands in the "
                               "L2 of one",
                               plan.grid.chiplets));
}

std::string TileScheduler::whyRaster() const {
  if (plan.grid.rasterAxes > 1 || lengths.differ)
    return fmt::format("the longest tiles of {} steps of the other axes go first, then their shorter ones, so that the "
                       "last blocks are short",
                       plan.grid.rasterGroup);
  return fmt::format(
      "tiles of the two last axes go in raster groups of {} rows, so that blocks of one time share rows and "
      "columns in L2",
      plan.grid.rasterGroup);
}

std::string TileScheduler::whyUncounted() const {
  const std::string what[] = {"a block a tile", "blocks take turns",
                              "blocks take pairs of a long and a short tile, and at the end single tiles"};
  const std::string why[] = {"lengths say of no fixed order that blocks end together", "tiles are equally long",
                             "the tiles of each pair are together as long as those of any other"};
  const auto order = static_cast<size_t>(plan.grid.uncounted);
  return what[order] + ": " + (schedule.captured ? "as the schedule says" : why[order]);
}

std::string TileScheduler::whyPersistent(bool loops, bool overlapped) const {
  if (plan.grid.ragged)
    return "the launcher does not know the range of an axis, so tiles are counted on the device";
  if (schedule.persistent)
    return "as the schedule says";
  if (plan.grid.dynamic && lengths.differ)
    return "tiles differ in length, and the next one's loads run under the end of this one";
  if (!placement.hasProducts)
    return "it has no products";
  if (placement.copiesItself)
    return "no producer could load the next tile meanwhile";
  if (!loops)
    return "no loop loads operands of products";
  if (overlapped)
    return "a loop issues products an iteration late";
  return hasVectorWorkInLoops()
             ? "vector work in a loop hides the loads, and leaves no register for a walk over the grid"
             : "the next tile's loads run under the end of this one";
}

} // namespace tkc::planner
