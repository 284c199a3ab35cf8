// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread holds about 32 elements of the largest tile, so that four 16-byte loads of 16-bit elements are in flight. A
// row goes over as many threads as it has vectors, up to a warp, so that one access of a warp reads whole runs of
// memory; over more only where there are fewer rows than that leaves, so that reductions along it stay in a warp where
// they can.
//
// Where a kernel has wide tiles and high ones, as a transposition makes of each other, the threads that suit the one
// would fill up the other to many times its size. They then stand so that none is filled up far.
#include "backends/plan/placement/RowLayout.h"

#include "backends/plan/analysis/Nest.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tkc::planner {
namespace {

constexpr int64_t elementsPerThread = 32;

struct Extents {
  int64_t cols = 0;    ///< greatest common divisor of the columns of all tiles wider than 1
  int64_t minCols = 0; ///< of tiles wider than 1
  int64_t maxRows = 1, maxCols = 1;
  int64_t widestBytes = 1; ///< of the elements in memory

  /// Tiles, and vectors as rows where `vectors` says so: a vector beside tiles is one of their rows or columns.
  void add(const ir::Value *value, bool vectors) {
    const ir::Type &type = value->type;
    if (type.kind != (vectors ? ir::Type::Vector : ir::Type::Tile))
      return;
    const int64_t rowsHere = vectors ? 1 : type.rows;
    const int64_t colsHere = vectors ? type.rows : type.cols;
    if (colsHere > 1) {
      cols = std::gcd(cols, colsHere);
      minCols = minCols == 0 ? colsHere : std::min(minCols, colsHere);
    }
    maxRows = std::max(maxRows, rowsHere);
    maxCols = std::max(maxCols, colsHere);
  }
};

Extents measure(const Nest &nest, bool vectors) {
  Extents extents;
  walkTile(nest, [&](const ir::Op &op, int) {
    for (const auto &result : op.results)
      extents.add(result.get(), vectors);
    if (op.kind != ir::OpKind::Load && op.kind != ir::OpKind::Store)
      return;
    const ir::Value *moved = op.kind == ir::OpKind::Load ? op.result() : op.operands().back();
    const bool isWide = vectors ? moved->type.kind == ir::Type::Vector : moved->type.isTile() && moved->type.cols > 1;
    if (isWide)
      extents.widestBytes = std::max<int64_t>(extents.widestBytes, bitWidth(moved->type.elem) / 8);
  });
  return extents;
}

/// Rows and columns of the tiles, but for single ones, which several threads hold.
std::vector<std::pair<int64_t, int64_t>> tilesOf(const Nest &nest) {
  std::vector<std::pair<int64_t, int64_t>> tiles;
  walkTile(nest, [&](const ir::Op &op, int) {
    for (const auto &result : op.results)
      if (const ir::Type &type = result->type; type.kind == ir::Type::Tile && type.rows > 1 && type.cols > 1)
        tiles.emplace_back(type.rows, type.cols);
  });
  return tiles;
}

/// Elements that the threads hold of the tiles, filled up.
int64_t held(const std::vector<std::pair<int64_t, int64_t>> &tiles, const plan::Layout &layout) {
  const int64_t rowsAtOnce = layout.threads / layout.threadsPerRow, colsAtOnce = layout.threadsPerRow * layout.vec;
  const auto upTo = [](int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; };
  int64_t sum = 0;
  for (const auto &[rows, cols] : tiles)
    sum += upTo(rows, rowsAtOnce) * upTo(cols, colsAtOnce);
  return sum;
}

/// A thread stores neighbours of less than a byte together.
bool hasPacked(const Nest &nest) {
  bool found = false;
  walkTile(nest, [&](const ir::Op &op, int) {
    for (const auto &result : op.results)
      found |= result->type.isTile() && bitWidth(result->type.elem) < 8;
  });
  return found;
}

/// The usual layout, or where another holds less than half as much, that which holds least, with the longest vectors.
plan::Layout withoutMuchFilling(const Nest &nest, const plan::Layout &usual, bool fixesVectors) {
  const std::vector<std::pair<int64_t, int64_t>> tiles = tilesOf(nest);
  plan::Layout best = usual;
  for (int vec = usual.vec; vec >= (fixesVectors ? usual.vec : 1); vec /= 2)
    for (int perRow = usual.threads; perRow >= 1; perRow /= 2)
      if (const plan::Layout layout{plan::Layout::Rows, usual.threads, perRow, vec};
          held(tiles, layout) < held(tiles, best))
        best = layout;
  return 2 * held(tiles, best) < held(tiles, usual) ? best : usual;
}

int64_t powerOfTwoIn(int64_t value) { return value == 0 ? 1 : value & -value; }

} // namespace

bool chooseRowLayout(const Nest &nest, const arch::Description &arch, const Schedule &schedule, plan::Layout &layout,
                     std::string &error) {
  Extents extents = measure(nest, false);
  if (extents.cols == 0 && extents.maxRows == 1)
    extents = measure(nest, true);
  const int64_t cols = std::max<int64_t>(extents.cols, 1);
  const int64_t narrow = std::min<int64_t>(16 / std::max<int64_t>(extents.widestBytes, 2), 8);
  const int64_t vec = std::min(powerOfTwoIn(cols), schedule.vector.value_or(narrow));
  const int64_t total = extents.maxRows * extents.maxCols;
  const int64_t wanted = std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(total / elementsPerThread, 1)));
  const int64_t limit = arch.maxThreadsPerBlock;
  int64_t threads =
      schedule.warps ? *schedule.warps * arch.warpSize : std::clamp<int64_t>(wanted, arch.warpSize * 4, limit);
  if (!std::has_single_bit(static_cast<uint64_t>(threads)) || threads > arch.maxThreadsPerBlock) {
    error = "`warps` must be a power of two, at most " + std::to_string(arch.maxThreadsPerBlock / arch.warpSize);
    return false;
  }
  if (schedule.alignRows.value_or(false) && !schedule.warps) // vectors that are moved along a row are all whole
    while (threads > arch.warpSize && extents.maxCols % (threads * vec) != 0)
      threads /= 2;
  if (!std::has_single_bit(static_cast<uint64_t>(vec))) {
    error = "`vector` must be a power of two";
    return false;
  }
  const int64_t rowsAtOnce = std::min<int64_t>(std::bit_ceil(static_cast<uint64_t>(extents.maxRows)), threads);
  const int64_t vectors = std::max<int64_t>(extents.minCols / vec, 1);
  const int64_t perRow = std::min<int64_t>({std::max<int64_t>(threads / rowsAtOnce, arch.warpSize), threads,
                                            static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(vectors)))});
  threads = schedule.warps ? threads : std::clamp<int64_t>(perRow * rowsAtOnce, arch.warpSize, threads);
  layout = {plan::Layout::Rows, static_cast<int>(threads), static_cast<int>(perRow), static_cast<int>(vec)};
  layout = withoutMuchFilling(nest, layout, schedule.vector.has_value() || hasPacked(nest));
  return true;
}

} // namespace tkc::planner
