// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/kernel/GridPrinter.h"

#include "backends/emit/kernel/GridDivisors.h"
#include "backends/targets/Dialect.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::cuda {

using plan::Stmt;
using plan::StmtKind;

namespace {

bool asksForTiles(const plan::Role &role) {
  return std::any_of(role.body.begin(), role.body.end(), [](const Stmt &stmt) { return stmt.kind == StmtKind::Claim; });
}

} // namespace

GridPrinter::GridPrinter(const KernelContext &kernel, const std::string &name)
    : kernel(kernel), plan(kernel.plan), dialect(dialectOf(kernel.plan.arch)), name(name) {}

// ---- axes

cpp::Expr GridPrinter::bound(const std::string &var) const {
  const auto found = kernel.preludeValues.find(var);
  return found == kernel.preludeValues.end() ? cpp::name(identifier(var)) : found->second;
}

bool GridPrinter::isPart(const plan::GridAxis &axis) const { return isPartOfTile(plan.grid, axis); }

/// What the launcher has prepared for division; `steps` where bounds are read on the GPU.
cpp::Expr GridPrinter::divisor(const std::string &key, cpp::Expr steps) const {
  return plan.grid.ragged ? steps : cpp::member(cpp::name("g"), kernel.members.divisor(key));
}

bool GridPrinter::isReversed(const plan::GridAxis &axis) const {
  const auto &list = plan.grid.reversed;
  return std::find(list.begin(), list.end(), axis.name) != list.end();
}

/// How many steps an axis has, of a whole cluster each: of the range declared as `NAME_tiles` for tiles.
cpp::Expr GridPrinter::extent(const plan::GridAxis &axis) const {
  if (isPart(axis))
    return cpp::integer(1);
  if (axis.tileSize == 0)
    return cpp::binary("-", bound(axis.hi), bound(axis.lo));
  const cpp::Expr tiles = cpp::method(cpp::name(tilesOf(axis)), "count");
  const int blocks = plan.blocksAlong(axis.name);
  return blocks > 1 ? cpp::call("tk::ceil_div", {tiles, cpp::integer(blocks)}) : tiles;
}

/// How many steps the axes from `first` up to `end` have together.
cpp::Expr GridPrinter::extentOf(size_t first, size_t end) const {
  cpp::Expr count = extent(plan.grid.axes[first]);
  while (++first < end)
    count = cpp::binary("*", count, extent(plan.grid.axes[first]));
  return count;
}

cpp::Expr GridPrinter::blockCount(size_t first) const {
  return first < plan.grid.axes.size() ? extentOf(first, plan.grid.axes.size()) : cpp::integer(1);
}

void GridPrinter::declareTiles(const plan::GridAxis &axis, cpp::Body &out) const {
  if (axis.step > 0)
    out.push_back(cpp::Stmt::declaration("const tk::tiles_of_columns", tilesOf(axis),
                                         cpp::braces("", {bound(axis.hi), kernel.columns()})));
  else if (axis.tileSize > 0)
    out.push_back(cpp::Stmt::declaration(fmt::format("const tk::tiles<{}>", axis.tileSize), tilesOf(axis),
                                         cpp::braces("", {bound(axis.lo), bound(axis.hi)})));
}

/// Axes from `first` on are found from one number; those before are loops (ragged grids).
size_t GridPrinter::firstFlatAxis() const {
  size_t first = 0;
  for (size_t i = 0; i < plan.grid.axes.size(); ++i)
    if (!plan.grid.axes[i].bounds.empty())
      first = i;
  return first;
}

// ---- coordinates

/// Of the block's tile, or index, on an axis: how many come before it.
cpp::Expr GridPrinter::placeOf(const plan::GridAxis &axis, cpp::Expr step) const {
  if (isPart(axis))
    return cpp::name("rank");
  if (isReversed(axis))
    step = cpp::binary("-", cpp::binary("-", extent(axis), cpp::integer(1)), step);
  if (const int blocks = plan.blocksAlong(axis.name); blocks > 1)
    step = cpp::binary("+", cpp::binary("*", step, cpp::integer(blocks)), kernel.placeAlong(axis.name));
  return step;
}

void GridPrinter::declareAxis(const plan::GridAxis &axis, cpp::Expr place, cpp::Body &out) const {
  const std::string &var = nameOf(axis);
  if (axis.tileSize > 0)
    out.push_back(
        cpp::Stmt::declaration("const auto", var, cpp::subscript(cpp::name(tilesOf(axis)), std::move(place))));
  else
    out.push_back(cpp::Stmt::declaration("const int", var, cpp::binary("+", bound(axis.lo), std::move(place))));
}

/// Statements that find a block's coordinates on the axes from `first` on; `take(axis, place)` takes each.
template <class Take>
void GridPrinter::takeAxes(size_t first, cpp::Expr number, const Take &take, cpp::Body &out) const {
  const auto &axes = plan.grid.axes;
  const size_t end = axes.size(), rows = firstRasterAxis(plan.grid, first);
  if (rows < end) {
    const cpp::Expr height = extentOf(rows, end - 1), width = extent(axes.back());
    if (rows > first) {
      out.push_back(cpp::Stmt::declaration("tk::grid_walk", "position", cpp::braces("", {number})));
      number = cpp::method(cpp::name("position"), "take", {divisor(planeKey, cpp::binary("*", height, width))});
    }
    const std::vector<cpp::Expr> grid =
        plan.grid.ragged ? std::vector<cpp::Expr>{number, height, width, cpp::integer(plan.grid.rasterGroup)}
                         : std::vector<cpp::Expr>{number, divisor(rasterKey, {})};
    out.push_back(cpp::Stmt::declaration("const auto", "at", cpp::call("tk::raster", grid)));
    walkAxes(rows, end - 1, cpp::name("at.row"), "row", take, out);
    take(axes.back(), placeOf(axes.back(), cpp::name("at.col")));
    if (rows > first)
      walkAxes(first, rows, cpp::member(cpp::name("position"), "position"), "outer", take, out);
    return;
  }
  walkAxes(first, end, number, "position", take, out);
}

/// The axes from `first` up to `end` from one number, the last varying fastest; `walk` is what is left of it.
template <class Take>
void GridPrinter::walkAxes(size_t first, size_t end, const cpp::Expr &number, const std::string &walk, const Take &take,
                           cpp::Body &out) const {
  const auto &axes = plan.grid.axes;
  if (end == first + 1)
    return take(axes[first], placeOf(axes[first], number));
  out.push_back(cpp::Stmt::declaration("tk::grid_walk", walk, cpp::braces("", {number})));
  while (end-- > first) {
    const cpp::Expr left = cpp::name(walk);
    const plan::GridAxis &axis = axes[end];
    const auto steps = [&] { return isPart(axis) ? extent(axis) : divisor(axis.name, extent(axis)); };
    take(axis, placeOf(axis, end == first ? cpp::member(left, "position") : cpp::method(left, "take", {steps()})));
  }
}

///   const auto tile_of = [&](int number) { …; return tk::counted_tile{number, {h, b, i}}; };
cpp::Stmt GridPrinter::tileOf() const {
  cpp::Body find;
  for (const plan::GridAxis &axis : plan.grid.axes)
    declareTiles(axis, find);
  takeAxes(
      0, cpp::name("number"),
      [&](const plan::GridAxis &axis, cpp::Expr place) {
        find.push_back(cpp::Stmt::declaration("const int", nameOf(axis), std::move(place)));
      },
      find);
  std::vector<cpp::Expr> places;
  for (const plan::GridAxis &axis : plan.grid.axes)
    places.push_back(cpp::name(nameOf(axis)));
  find.push_back(
      cpp::Stmt::ret(cpp::braces("tk::counted_tile", {cpp::name("number"), cpp::braces("", std::move(places))})));
  return cpp::Stmt::lambda("tile_of", "[&](int number)", std::move(find));
}

// ---- the loop over tiles

cpp::Body GridPrinter::findTile(const plan::Role &role) const {
  cpp::Body find;
  if (asksForTiles(role)) // which does nothing else
    return find;
  if (plan.grid.counted) {
    for (size_t i = 0; i < plan.grid.axes.size(); ++i)
      declareAxis(plan.grid.axes[i], cpp::name(fmt::format("block.at[{}]", i)), find);
    return find;
  }
  return tileOfNumber(plan.grid.persistent || plan.grid.ragged ? cpp::name("block") : kernel.blockNumber());
}

cpp::Body GridPrinter::firstTile() const {
  cpp::Body find;
  for (const plan::GridAxis &axis : plan.grid.axes)
    declareTiles(axis, find);
  cpp::Body tile = tileOfNumber(kernel.blockNumber());
  find.insert(find.end(), tile.begin(), tile.end());
  return find;
}

cpp::Body GridPrinter::tileOfNumber(cpp::Expr number) const {
  cpp::Body find;
  if (plan.grid.chiplets > 1)
    number = cpp::call(cpp::templated("tk::by_chiplet", {cpp::integer(plan.grid.chiplets)}),
                       {number, cpp::name(fmt::format("int({}gridDim.x)", dialect.numbers))});
  takeAxes(
      firstFlatAxis(), number,
      [&](const plan::GridAxis &axis, cpp::Expr place) { declareAxis(axis, std::move(place), find); }, find);
  return find;
}

bool GridPrinter::rereadsArguments() const {
  return dialect.rereadsArguments && !plan.grid.axes.empty() && (plan.grid.persistent || plan.grid.ragged);
}

cpp::Body GridPrinter::walk(const plan::Role &role, RolePrinter &printer) const {
  if (plan.grid.axes.empty())
    return printer.body();
  cpp::Body find = findTile(role), work = printer.body();
  find.insert(find.end(), work.begin(), work.end());
  if (!plan.grid.persistent && !plan.grid.ragged)
    return find;
  if (rereadsArguments())
    find.insert(find.begin(), cpp::Stmt::declaration(
                                  "const auto &", "g",
                                  cpp::call(cpp::templated("tk::arguments_in_place", {cpp::name(argumentsOf(name))}))));
  if (plan.grid.dynamic)
    return dynamicLoop(role, std::move(find));
  if (plan.grid.ragged)
    return raggedGrid(firstFlatAxis(), std::move(find));
  return {cpp::Stmt::forLoop(fmt::format("int block = {2}blockIdx.x{0}; block < {1}; block += {2}gridDim.x{0}",
                                         plan.cluster > 1 ? fmt::format(" / {}", plan.cluster) : "",
                                         cpp::print(blockCount(0)), dialect.numbers),
                             std::move(find))};
}

cpp::Body GridPrinter::dynamicLoop(const plan::Role &role, cpp::Body tile) const {
  const std::string head = plan.grid.counted
                               ? std::string("auto block = tk::first_counted(g.tk_claims, tile_of); block.number >= 0;")
                               : fmt::format("int block = blockIdx.x{}; block >= 0;",
                                             plan.cluster > 1 ? fmt::format(" / {}", plan.cluster) : "");
  cpp::Body loop{cpp::Stmt::forLoop(head, std::move(tile))};
  if (plan.grid.counted && asksForTiles(role))
    loop.insert(loop.begin(), cpp::Stmt::declaration("const int", "blocks", blockCount(0)));
  return loop;
}

/// Empty where the axis is not ragged.
cpp::Body GridPrinter::boundsOf(const plan::GridAxis &axis) const {
  const auto found = kernel.gridBounds.find(axis.name);
  return found == kernel.gridBounds.end() ? cpp::Body() : found->second;
}

/// Walks the outer axes; of the tiles within each step a block takes every gridDim.x-th, counted across steps.
cpp::Body GridPrinter::raggedGrid(size_t first, cpp::Body tile) const {
  cpp::Body inner = boundsOf(plan.grid.axes[first]);
  for (size_t i = first; i < plan.grid.axes.size(); ++i)
    declareTiles(plan.grid.axes[i], inner);
  inner.push_back(cpp::Stmt::declaration("const int", "blocks", blockCount(first)));
  inner.push_back(
      cpp::Stmt::forLoop(fmt::format("; block < blocks; block += {}gridDim.x", dialect.numbers), std::move(tile)));
  inner.push_back(cpp::Stmt::expression(cpp::name("block -= blocks")));
  for (size_t i = first; i-- > 0;) {
    const plan::GridAxis &axis = plan.grid.axes[i];
    const std::string &var = nameOf(axis);
    const std::string lo = cpp::print(bound(axis.lo)), hi = cpp::print(bound(axis.hi));
    inner = {cpp::Stmt::forLoop(axis.tileSize > 0
                                    ? fmt::format("const auto {} : tk::tiles<{}>{{{}, {}}}", var, axis.tileSize, lo, hi)
                                    : fmt::format("int {0} = {1}; {0} < {2}; ++{0}", var, lo, hi),
                                std::move(inner))};
    cpp::Body bounds = boundsOf(axis);
    inner.insert(inner.begin(), bounds.begin(), bounds.end());
  }
  inner.insert(inner.begin(),
               cpp::Stmt::declaration("int", "block", cpp::name(fmt::format("{}blockIdx.x", dialect.numbers))));
  return inner;
}

} // namespace tkc::cuda
