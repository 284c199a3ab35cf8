// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What blocks of a cluster do for each other, statement by statement. That it comes in time is Order.cpp's.
#include "ir/plan/verify/Verify.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::plan {
namespace {

class ClusterStatements {
public:
  ClusterStatements(const Plan &plan, const Role &role, Report &report) : plan(plan), role(role), report(report) {
    for (const std::string &axis : {plan.grid.clusterAxis, plan.grid.acrossAxis})
      if (!axis.empty())
        follow(axis);
  }

  void run() {
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) { check(stmt); });
  }

private:
  template <class... Args> void complain(const Stmt &stmt, fmt::format_string<Args...> text, Args &&...args) {
    report.add(stmt.loc, fmt::format("`{}`: ", print(stmt)) + fmt::format(text, std::forward<Args>(args)...));
  }

  using Names = std::set<std::string>;

  static bool hasAny(const Names &set, const std::vector<std::string> &names) {
    return std::any_of(names.begin(), names.end(), [&](const std::string &name) { return set.count(name) != 0; });
  }

  /// Finds what differs between blocks that stand along an axis.
  void follow(const std::string &axis) {
    Names &names = differs[axis];
    names.insert(axis);
    for (size_t before = 0; before != names.size();) {
      before = names.size();
      for (const Body *body : {&role.body, &role.finish})
        flow(*body, false, names);
    }
  }

  /// Variables that follow from those in `names`, by value or by the control around them.
  static void flow(const Body &body, bool around, Names &names) {
    for (const Stmt &stmt : body) {
      const bool here = around || hasAny(names, stmt.operands);
      if (here && !stmt.dest.empty())
        names.insert(stmt.dest);
      for (const Body *inner : stmt.bodies())
        flow(*inner, here, names);
    }
  }

  void check(const Stmt &stmt) {
    const bool shares = stmt.multicast != Division::Whole;
    if (plan.cluster == 1 && (reachesOtherBlocks(stmt) || stmt.share != Division::Whole || stmt.inFirst ||
                              role.inFirst || stmt.kind == StmtKind::ClusterSync))
      return complain(stmt, "the plan has no clusters");
    if (shares)
      share(stmt);
    if (stmt.fromBlock < 0 || stmt.fromBlock >= plan.cluster)
      complain(stmt, "the cluster has no such block");
    if (stmt.share != Division::Whole)
      shareOfRank(stmt);
    if (stmt.byPair && (plan.cluster != 2 || !role.inFirst))
      complain(stmt, "a pair is a cluster of two blocks, and the first one's role issues its products");
    if (stmt.kind == StmtKind::CopyIn && stmt.toFirst)
      forPair(stmt);
  }

  /// A rank is a number, and what begins there is a panel.
  void shareOfRank(const Stmt &stmt) {
    const Buffer *buffer = plan.findBuffer(stmt.ref.buffer);
    const auto axis = std::find_if(plan.grid.axes.begin(), plan.grid.axes.end(),
                                   [&](const GridAxis &each) { return each.name == plan.grid.clusterAxis; });
    if (axis == plan.grid.axes.end() || axis->tileSize > 0)
      return complain(stmt, "no axis of whole numbers is that of the cluster's blocks");
    const int64_t span = bytes(buffer->swizzle);
    if (stmt.share != Division::Cols || stmt.ref.transposed || stmt.ref.slice == Division::Cols || buffer->rows == 1 ||
        buffer->cols % plan.cluster != 0)
      return complain(stmt, "shares for {} blocks are of columns", plan.cluster);
    if (span > 0 && sharedBytes(buffer->elem, buffer->cols / plan.cluster) % span != 0)
      complain(stmt, "a share of `{}` is no whole panels of swizzle {}", buffer->name, spelling(buffer->swizzle));
  }

  /// A stage holds what this block has of the tile: its share, or all.
  void forPair(const Stmt &stmt) {
    const TensorMap *map = plan.findMap(stmt.map);
    if (!map)
      return; // by threads, which arrive there for all that this block has
    const Buffer &buffer = *plan.findBuffer(stmt.ref.buffer);
    const auto check = [&](int dim, int64_t extent, Division along) {
      const int64_t blocks = stmt.multicast == along ? plan.cluster : 1;
      if (dim >= 0 && extentOf(stmt, stmt.view.indices[static_cast<size_t>(dim)]) > extent * blocks)
        complain(stmt, "{} {} of a stage in each of {} blocks do not hold the tile", extent, spelling(along), blocks);
    };
    check(map->rowDim, buffer.rows, Division::Rows);
    check(map->colDim, buffer.cols, Division::Cols);
  }

  /// Elements along a dim of the tile that is copied.
  int64_t extentOf(const Stmt &stmt, const ir::ViewIndex &index) const {
    if (index.kind != ir::ViewIndex::Tiled)
      return index.hi - index.lo;
    const std::optional<VarType> type = typeOf(plan, role, stmt.operands[index.operand]);
    return type ? type->rows / index.divisor : 0;
  }

  void share(const Stmt &stmt) {
    if (stmt.map.empty() || !stmt.one)
      return complain(stmt, "only the copy engine sends to a cluster, for one thread");
    if (!stmt.along.empty() && plan.blocksAlong(stmt.along) == 1)
      return complain(stmt, "no blocks of a cluster stand along `{}`", stmt.along);
    for (const auto &[axis, names] : differs)
      if ((stmt.along.empty() || stmt.along == axis) && hasAny(names, stmt.operands))
        return complain(
            stmt, "the blocks of a cluster copy shares of different tiles, `{}` being one of what they copy by", axis);
    const Buffer &buffer = *plan.findBuffer(stmt.ref.buffer);
    const bool byRows = stmt.multicast == Division::Rows;
    // A share starts at a swizzle atom, and is whole panels: 8 rows, or as many columns as the swizzle spans.
    const int64_t unit = byRows ? 8 : std::max<int64_t>(bytes(buffer.swizzle) * 8 / sharedBits(buffer.elem), 1);
    const int64_t extent = byRows ? buffer.rows : buffer.cols;
    const int64_t shares = stmt.toFirst ? 1 : plan.blocksAlong(stmt.along); // in a stage
    if (extent % (unit * shares) != 0 || (!byRows && buffer.swizzle == Swizzle::None))
      complain(stmt, "{} {} of a stage for {} blocks: shares are of multiples of {}", extent, spelling(stmt.multicast),
               shares, unit);
  }

  const Plan &plan;
  const Role &role;
  Report &report;
  std::map<std::string, Names> differs; ///< by axis: what differs between blocks that stand along it
};

} // namespace

void checkCluster(const Plan &plan, Report &report) {
  for (const Role &role : plan.roles)
    ClusterStatements(plan, role, report).run();
}

} // namespace tkc::plan
