// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/WarpGrid.h"

#include "backends/plan/analysis/Nest.h"
#include "ir/Products.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tkc::planner {
namespace {

/// What the products of a kernel are.
struct Products {
  int64_t minRows = 0, maxRows = 0; ///< of their results
  int64_t minCols = 0, maxCols = 0;
  int64_t commonCols = 0; ///< greatest common divisor
  int64_t colsUnit = 16;  ///< instances' shares of right operands are multiples of so many columns
  bool scans = false;     ///< running sums, which cost instances that share them more barriers
  bool flat = true;       ///< operands are loaded, and nothing needs whole rows or columns
  int64_t unit = 0;       ///< greatest common divisor of all extents, contracted ones too
  bool isDouble = false;  ///< f64 among them

  Products(const Nest &nest, llvm::function_ref<bool(const ir::Value *)> isLoaded) {
    walkTile(nest, [&](const ir::Op &op, int) {
      if (op.kind == ir::OpKind::Reduce || op.kind == ir::OpKind::Cumsum)
        flat = false;
      scans |= op.kind == ir::OpKind::Cumsum;
      if (!ir::isProduct(op))
        return;
      const ir::Type &type = op.result()->type;
      minRows = minRows == 0 ? type.rows : std::min(minRows, type.rows);
      minCols = minCols == 0 ? type.cols : std::min(minCols, type.cols);
      maxRows = std::max(maxRows, type.rows);
      maxCols = std::max(maxCols, type.cols);
      unit = std::gcd(std::gcd(unit, type.rows), std::gcd(type.cols, ir::factorOf(op, 0)->type.cols));
      isDouble |= ir::factorOf(op, 0)->type.elem == ElemType::F64;
      commonCols = std::gcd(commonCols, type.cols);
      // A share starts at a whole swizzle panel of 128 bytes, or at an even part of one; with scales k is contiguous.
      colsUnit = std::max<int64_t>(colsUnit, ir::isScaled(op) ? 32 : 128 / byteWidth(ir::factorOf(op, 1)->type.elem));
      flat &= isLoaded(ir::factorOf(op, 0)) && isLoaded(ir::factorOf(op, 1));
    });
    flat &= minRows == maxRows && minCols == maxCols;
  }
};

/// Side by side and below each other, so that a step of k reads the least shared memory.
WarpGrid squarest(const Products &products, int warps, int64_t warpRows) {
  WarpGrid best{1, 1, false};
  int64_t bestCost = 0;
  for (int down = 1; down <= warps; down *= 2) {
    const int across = warps / down;
    const bool suits = products.maxRows % (warpRows * down) == 0 &&
                       (across == 1 || products.maxCols % (products.colsUnit * across) == 0);
    const int64_t cost = products.maxRows / down + products.maxCols / across;
    if (suits && (bestCost == 0 || cost < bestCost)) {
      best = {down, across, across > 1};
      bestCost = cost;
    }
  }
  return best;
}

} // namespace

WaveBlocks chooseWaveBlocks(const Nest &nest, llvm::function_ref<bool(const ir::Value *)> isLoaded) {
  const Products products(nest, isLoaded);
  if (products.isDouble)
    return {16, 1};
  constexpr int64_t side = 32, waves = 4; // below each other, where rows must not be shared
  const bool hasRows = products.flat || products.minRows >= side * waves;
  return {hasRows && products.unit % side == 0 ? 32 : 16, 4};
}

WarpGrid chooseWarpGrid(const Nest &nest, const Schedule &schedule,
                        llvm::function_ref<bool(const ir::Value *)> isLoaded, int lanes, int64_t warpRows) {
  const Products products(nest, isLoaded);
  const int64_t area = products.maxRows * products.maxCols;
  const bool isLarge = lanes == 32 ? area >= 128 * 128 || !products.flat : area > 128 * 128;
  const int wanted = static_cast<int>(schedule.warps.value_or(isLarge ? 8 : 4));
  const int warps = static_cast<int>(std::bit_floor(static_cast<unsigned>(wanted)));
  if (products.flat) {
    const WarpGrid grid = squarest(products, warps, warpRows);
    if (grid.down * grid.instances == warps)
      return grid;
  }
  // All tiles by rows, so that those of a row stay within a quad; the smallest product has rows for all warps of an
  // instance.
  const auto fitting = static_cast<unsigned>(std::max<int64_t>((products.minRows + warpRows - 1) / warpRows, 1));
  WarpGrid grid;
  grid.down = std::min(warps, static_cast<int>(std::bit_floor(fitting)));
  const int64_t share = products.scans ? 1 : products.maxRows / (warpRows * grid.down);
  grid.instances = static_cast<int>(std::clamp<int64_t>(warps / grid.down, 1, std::max<int64_t>(share, 1)));
  // Who asks for more warps than there are rows has them share columns (divisionOf), if they can.
  const int asked = warps / grid.down;
  if (schedule.warps && share <= 1 && asked > 1 && products.commonCols % (16 * asked) == 0)
    grid.instances = asked;
  return grid;
}

} // namespace tkc::planner
