// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations: names, memory, tensor maps, roles. What statements refer to is in Statements.cpp.
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::plan {
namespace {

constexpr int mostStages = 64;

class Declarations {
public:
  Declarations(const Plan &plan, const Budget &budget, Report &report) : plan(plan), budget(budget), report(report) {}

  void run() {
    names();
    cluster();
    raster();
    dynamicTiles();
    if (plan.sharedSpan != budget.sharedSpan)
      complain("swizzles are for {} bytes of shared memory at once, and {} serves {}", plan.sharedSpan, plan.arch,
               budget.sharedSpan);
    for (const Buffer &buffer : plan.buffers)
      memory(buffer);
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        overlap(plan.buffers[j], plan.buffers[i]);
    for (const Barrier &barrier : plan.barriers)
      if (barrier.stages < 1 || barrier.stages > mostStages || barrier.arrivals < 1 || barrier.instances < 1)
        complain("barrier `{}` has {} stages and {} arrivals: stages are 1 to {}, arrivals at least 1", barrier.name,
                 barrier.stages, barrier.arrivals, mostStages);
    for (const TensorMap &map : plan.maps)
      tensorMap(map);
    for (const Role &role : plan.roles)
      warps(role);
    for (size_t i = 0; i < plan.roles.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        disjoint(plan.roles[j], plan.roles[i]);
  }

private:
  template <class... Args> void complain(fmt::format_string<Args...> text, Args &&...args) {
    report.add(plan.loc, fmt::format(text, std::forward<Args>(args)...));
  }

  void unique(const char *what, std::vector<std::string> all) {
    std::sort(all.begin(), all.end());
    for (auto at = all.begin(); (at = std::adjacent_find(at, all.end())) != all.end();
         at = std::upper_bound(at, all.end(), *at))
      complain("two {} are called `{}`", what, *at);
  }

  void names() {
    auto namesOf = [](const auto &all) {
      std::vector<std::string> names;
      for (const auto &each : all)
        names.push_back(each.name);
      return names;
    };
    unique("buffers", namesOf(plan.buffers));
    unique("barriers", namesOf(plan.barriers));
    unique("tensor maps", namesOf(plan.maps));
    unique("roles", namesOf(plan.roles));
    unique("variables of the prelude", namesOf(plan.preludeVars));
    unique("axes of the grid", namesOf(plan.grid.axes));
    for (const Role &role : plan.roles) {
      unique("variables", namesOf(role.vars));
      // A variable of the prelude may be hidden: what bounds of ragged axes compute concerns nobody else.
      for (const GridAxis &axis : plan.grid.axes)
        if (role.findVar(axis.name))
          complain("`{}` is an axis of the grid and a variable of role `{}`", axis.name, role.name);
    }
  }

  void cluster() {
    const int blocks = plan.cluster;
    if (blocks < 1 || blocks > budget.maxCluster || (blocks & (blocks - 1)) != 0)
      complain("clusters of {} blocks: a power of two, at most {}", blocks, budget.maxCluster);
    const Grid &grid = plan.grid;
    if (blocks == 1 && !grid.clusterAxis.empty())
      complain("the grid has clusters along `{}`, the plan has none", grid.clusterAxis);
    else if (blocks > 1)
      clusterAxis(grid.clusterAxis, grid.across == 1);
    if (grid.acrossAxis.empty() && grid.across == 1)
      return;
    if (grid.across < 2 || blocks % (grid.across * 2) != 0 || grid.acrossAxis == grid.clusterAxis)
      return complain("clusters of {} blocks, {} of them across `{}`: each of two axes has a part of the blocks",
                      blocks, grid.across, grid.acrossAxis);
    clusterAxis(grid.acrossAxis, false);
  }

  /// `isOnly`: along which all blocks stand. Then they may have one tile.
  void clusterAxis(const std::string &along, bool isOnly) {
    auto axis = std::find_if(plan.grid.axes.begin(), plan.grid.axes.end(),
                             [&](const GridAxis &axis) { return axis.name == along; });
    const std::vector<std::string> &reversed = plan.grid.reversed;
    if (axis == plan.grid.axes.end() || (axis->tileSize == 0 && !(isOnly && hasSteps(*axis, plan.cluster))))
      complain("clusters along `{}`: an axis of tiles is needed, or of {} numbers", along, plan.cluster);
    else if (plan.grid.ragged || std::count(reversed.begin(), reversed.end(), along) != 0)
      complain("clusters along `{}`: the axis may be neither ragged nor reversed", along);
  }

  /// Whether an axis has so many numbers from 0 on, whatever the call.
  bool hasSteps(const GridAxis &axis, int count) const {
    const auto isConstant = [&](const std::string &name, double value) {
      return std::any_of(plan.prelude.begin(), plan.prelude.end(), [&](const Stmt &stmt) {
        return stmt.dest == name && stmt.kind == StmtKind::Compute && stmt.op == ir::OpKind::Const &&
               stmt.constant == value;
      });
    };
    return isConstant(axis.lo, 0) && isConstant(axis.hi, count);
  }

  void raster() {
    const int axes = static_cast<int>(plan.grid.axes.size());
    if (plan.grid.rasterGroup > 0 && (plan.grid.rasterAxes < 1 || plan.grid.rasterAxes >= axes))
      complain("raster groups over {} axes: the grid has {} before its last", plan.grid.rasterAxes,
               std::max(axes - 1, 0));
  }

  /// Where tiles are dynamic, one role asks once a tile, and every role learns of the answer once a tile.
  void dynamicTiles() {
    int asks = 0;
    for (const Role &role : plan.roles) {
      int tiles = 0, inside = 0;
      for (const Stmt &stmt : role.body) {
        tiles += stmt.kind == StmtKind::NextTile;
        asks += stmt.kind == StmtKind::Claim;
      }
      for (const Body *body : {&role.body, &role.finish})
        walk(*body,
             [&](const Stmt &stmt) { inside += stmt.kind == StmtKind::NextTile || stmt.kind == StmtKind::Claim; });
      inside -= tiles + static_cast<int>(std::count_if(role.body.begin(), role.body.end(),
                                                       [](const Stmt &stmt) { return stmt.kind == StmtKind::Claim; }));
      if (tiles != (plan.grid.dynamic ? 1 : 0) || inside != 0)
        complain("role `{}` learns of its next tile {} times a tile, and in loops or branches {} times: {}", role.name,
                 tiles, inside, plan.grid.dynamic ? "once at its end is needed" : "the grid's tiles are not claimed");
    }
    if (asks != (plan.grid.dynamic ? 1 : 0))
      complain("{} claims a tile, {} needed", asks, plan.grid.dynamic ? 1 : 0);
    if (plan.grid.counted && plan.cluster > 1)
      complain("tiles are counted, and the blocks of a cluster would each count their own");
    if (plan.grid.counted && plan.grid.axes.size() > Grid::mostCountedAxes)
      complain("tiles are counted on {} axes; an answer has place for {}", plan.grid.axes.size(),
               Grid::mostCountedAxes);
    if (plan.grid.counted && plan.grid.ragged)
      complain("tiles are counted, and nobody knows at launch how many a ragged grid has");
    if (plan.grid.uncounted != Uncounted::Apart && !plan.grid.counted)
      complain("an order for launches without a counter, in a grid that is not counted");
    if (plan.grid.uncounted == Uncounted::Pairs && !plan.grid.rastersAll())
      complain("pairs of a long and a short tile: raster groups over all axes but the last are needed");
    if (plan.grid.dynamic && !plan.grid.counted && !budget.hasClusterLaunchControl)
      report.addOverBudget(plan.loc, fmt::format("tiles are claimed, and {} has no cluster launch control", plan.arch));
  }

  void memory(const Buffer &buffer) {
    if (buffer.rows < 1 || buffer.cols < 1 || buffer.instances < 1 || buffer.stages < 1 || buffer.stages > mostStages) {
      complain("buffer `{}` has {} stages of {}x{} elements: stages are 1 to {}, sides at least 1", buffer.name,
               buffer.stages, buffer.rows, buffer.cols, mostStages);
      return;
    }
    // A swizzle permutes 16-byte pieces within 8 rows of its span (PTX ISA, "Shared memory matrix layout"), or within
    // 16 where banks serve twice as much at once.
    int64_t atom = plan.swizzleAtom(buffer.swizzle);
    if (buffer.offset % atom != 0 || (buffer.stages * buffer.instances > 1 && buffer.stageBytes() % atom != 0))
      complain("buffer `{}` stands at {} in stages of {} bytes: swizzle {} needs multiples of {}", buffer.name,
               buffer.offset, buffer.stageBytes(), spelling(buffer.swizzle), atom);
    int64_t rowBytes = sharedBytes(buffer.elem, buffer.cols), span = bytes(buffer.swizzle);
    if (span != 0 && rowBytes > span && rowBytes % span != 0)
      complain("rows of buffer `{}` are {} bytes: longer than swizzle {}'s span and not a multiple of it", buffer.name,
               rowBytes, spelling(buffer.swizzle));
  }

  void overlap(const Buffer &one, const Buffer &other) {
    if (one.offset >= other.offset + other.totalBytes() || other.offset >= one.offset + one.totalBytes())
      return;
    if (one.aliasOf == other.name || other.aliasOf == one.name ||
        (!one.aliasOf.empty() && one.aliasOf == other.aliasOf))
      return;
    complain("buffers `{}` ({}..{}) and `{}` ({}..{}) overlap, and neither is an alias of the other", one.name,
             one.offset, one.offset + one.totalBytes(), other.name, other.offset, other.offset + other.totalBytes());
  }

  void tensorMap(const TensorMap &map) {
    const Buffer *buffer = plan.findBuffer(map.buffer);
    auto param = std::find_if(plan.params.begin(), plan.params.end(),
                              [&](const ir::Param &param) { return param.name == map.tensor && param.isTensor; });
    if (!buffer || param == plan.params.end()) {
      complain("tensor map `{}` is of `{}` for buffer `{}`, which {}", map.name, map.tensor, map.buffer,
               buffer ? "is no tensor parameter" : "does not exist");
      return;
    }
    int64_t rowBytes = sharedBytes(buffer->elem, map.boxCols), span = bytes(map.swizzle);
    if (param->elem != buffer->elem)
      complain("tensor map `{}` copies {} into buffer `{}` of {}", map.name, spelling(param->elem), buffer->name,
               spelling(buffer->elem));
    if (map.boxRows < 1 || map.boxRows > budget.maxBoxDim || map.boxCols < 1 || map.boxCols > budget.maxBoxDim)
      complain("tensor map `{}` has a box of {}x{}: at most {} a dim", map.name, map.boxRows, map.boxCols,
               budget.maxBoxDim);
    if (rowBytes % 16 != 0)
      complain("tensor map `{}` has box rows of {} bytes: a multiple of 16 is needed", map.name, rowBytes);
    if (span != 0 && rowBytes > span)
      complain("tensor map `{}` has box rows of {} bytes: swizzle {} takes at most {}", map.name, rowBytes,
               spelling(map.swizzle), span);
    if (isFloat6(buffer->elem) && map.boxCols != float6BoxCols)
      complain("tensor map `{}` has box rows of {} elements of six bits: the copy engine takes {}", map.name,
               map.boxCols, float6BoxCols);
    if (map.swizzle != buffer->swizzle)
      complain("tensor map `{}` has swizzle {}, its buffer `{}` has {}", map.name, spelling(map.swizzle), buffer->name,
               spelling(buffer->swizzle));
    if (map.boxRows >= 1 && map.boxCols >= 1 && (buffer->rows % map.boxRows != 0 || buffer->cols % map.boxCols != 0))
      complain("boxes of {}x{} of tensor map `{}` do not fill buffer `{}` of {}x{}", map.boxRows, map.boxCols, map.name,
               buffer->name, buffer->rows, buffer->cols);
    if (span == 0 && (buffer->offset % 128 != 0 || (buffer->stages > 1 && buffer->stageBytes() % 128 != 0)))
      complain(
          "buffer `{}` of tensor map `{}` stands at {} in stages of {} bytes: the copy engine needs multiples of 128",
          buffer->name, map.name, buffer->offset, buffer->stageBytes());
    int dims = static_cast<int>(param->dims.size());
    if (map.colDim != dims - 1 || map.rowDim < -1 || map.rowDim >= dims || map.rowDim == map.colDim)
      complain("tensor map `{}` goes along dims {} and {} of `{}`, which has {}: columns go along the last", map.name,
               map.rowDim, map.colDim, map.tensor, dims);
  }

  void warps(const Role &role) {
    int end = role.firstWarp + role.totalWarps();
    if (role.warps < 1 || role.instances < 1 || role.firstWarp < 0 || end * role.lanes > plan.threads)
      complain("role `{}` has warps {}..{}, the block has {}", role.name, role.firstWarp, end,
               plan.threads / role.lanes);
    bool multiplies = false;
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) {
        multiplies |= stmt.kind == StmtKind::Product && !stmt.isSynchronous() && !stmt.isTensorProduct();
      });
    if (multiplies && (role.warps != 4 || role.firstWarp % 4 != 0))
      complain("role `{}` multiplies with {} warps from warp {}: wgmma takes warpgroups, 4 warps from a multiple of 4",
               role.name, role.warps, role.firstWarp);
  }

  void disjoint(const Role &one, const Role &other) {
    if (one.firstWarp < other.firstWarp + other.totalWarps() && other.firstWarp < one.firstWarp + one.totalWarps())
      complain("roles `{}` and `{}` share warps", one.name, other.name);
  }

  const Plan &plan;
  const Budget &budget;
  Report &report;
};

} // namespace

void checkStructure(const Plan &plan, const Budget &budget, Report &report) {
  Declarations(plan, budget, report).run();
  checkTensors(plan, budget, report);
  if (report.empty())
    checkStatements(plan, budget, report);
  if (report.empty())
    checkSerial(plan, report);
  if (report.empty())
    checkAlignedRows(plan, report);
  if (report.empty())
    checkCluster(plan, report);
  if (report.empty())
    checkHeadStarts(plan, report);
}

} // namespace tkc::plan
