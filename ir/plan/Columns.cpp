// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/Columns.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

namespace tkc::plan {
namespace {

using Kind = StmtKind;

/// An instruction's columns.
constexpr int64_t columnsOfInstruction = 8;
/// Bytes of which a box's place along the rows of its tensor is a multiple.
constexpr int64_t boxAlignment = 16;
/// Dims of a tensor map, of which one counts tiles.
constexpr size_t mostDims = 5;

bool isTile(const ir::ViewIndex &index, const Stmt &stmt, const std::string &axis) {
  return index.kind == ir::ViewIndex::Tiled && index.divisor == 1 && stmt.operands[index.operand] == axis;
}

bool uses(const Stmt &stmt, const std::string &axis) {
  return std::find(stmt.operands.begin(), stmt.operands.end(), axis) != stmt.operands.end();
}

bool isWorkOnElements(const Stmt &stmt) {
  switch (stmt.op) {
  case ir::OpKind::Const:
  case ir::OpKind::Dim:
  case ir::OpKind::Param:
  case ir::OpKind::Full:
  case ir::OpKind::AsCol:
  case ir::OpKind::AsRow:
    return true;
  default:
    return ir::isElementwise(stmt.op);
  }
}

class Columns {
public:
  Columns(const Plan &plan, const GridAxis &axis, int64_t step) : plan(plan), axis(axis), step(step) {}

  std::optional<Obstacle> run() {
    checkAxis();
    for (const Role &role : plan.roles)
      for (const Body *body : {&role.body, &role.finish})
        checkBody(role, *body);
    if (products == 0)
      complain(plan.loc, "nothing is multiplied");
    return std::move(found);
  }

private:
  void complain(SourceLoc loc, std::string why) {
    if (!found)
      found = Obstacle{loc, std::move(why)};
  }

  void checkAxis() {
    const bool beginsAtZero = std::any_of(plan.prelude.begin(), plan.prelude.end(), [&](const Stmt &stmt) {
      return stmt.dest == axis.lo && stmt.kind == Kind::Compute && stmt.op == ir::OpKind::Const && stmt.constant == 0;
    });
    if (step % columnsOfInstruction != 0 || axis.tileSize % step != 0 || step >= axis.tileSize)
      complain(plan.loc,
               fmt::format("{} are no multiple of 8, or {} no greater multiple of that", step, axis.tileSize));
    else if (!beginsAtZero || plan.grid.ragged)
      complain(plan.loc,
               fmt::format("`{}` does not begin at 0, or what it ends at is not known to the launcher", axis.name));
    else if (plan.grid.dynamic)
      complain(plan.loc, "blocks ask for their tiles");
    else if (std::find(plan.grid.reversed.begin(), plan.grid.reversed.end(), axis.name) != plan.grid.reversed.end())
      complain(plan.loc, fmt::format("`{}` is walked from its end", axis.name));
    else if (!axis.bounds.empty())
      complain(plan.loc, fmt::format("the bounds of `{}` depend on other axes", axis.name));
  }

  void checkBody(const Role &role, const Body &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      const Stmt &stmt = body[i];
      checkUse(stmt);
      checkStatement(stmt);
      if (stmt.kind == Kind::Product) {
        ++products;
        checkProduct(role, stmt);
        if (i == 0 || i + 1 == body.size() || body[i - 1].kind != Kind::ProductFence ||
            body[i + 1].kind != Kind::ProductCommit)
          complain(stmt.loc, "several products go together");
      }
      for (const Body *inner : stmt.bodies())
        checkBody(role, *inner);
    }
  }

  /// The axis is a dim of what is loaded or stored, or the columns of that.
  void checkUse(const Stmt &stmt) {
    if (!uses(stmt, axis.name))
      return;
    const bool isLoad = stmt.kind == Kind::CopyIn || stmt.kind == Kind::Load;
    const bool isStore = stmt.kind == Kind::CopyOut || stmt.kind == Kind::Store;
    const auto &indices = stmt.view.indices;
    const auto isOfAxis = [&](const ir::ViewIndex &index) { return isTile(index, stmt, axis.name); };
    if (!isLoad && !isStore)
      return complain(stmt.loc, fmt::format("something is computed from `{}`", axis.name));
    if (std::count(stmt.operands.begin(), stmt.operands.end(), axis.name) != 1 ||
        std::count_if(indices.begin(), indices.end(), isOfAxis) != 1)
      return complain(stmt.loc, fmt::format("`{}` is no plain index of `{}`", axis.name, stmt.view.tensor));
    if (isStore && !isOfAxis(indices.back()))
      return complain(stmt.loc, fmt::format("`{}` is not the last index of `{}`", axis.name, stmt.view.tensor));
    if (stmt.kind == Kind::CopyOut)
      checkCopyOut(stmt);
    if (stmt.kind == Kind::CopyIn && !stmt.map.empty())
      checkCopyIn(stmt);
  }

  /// Its boxes begin where tiles do, and have a row for each column of a tile if any box of its map has.
  void checkCopyIn(const Stmt &stmt) {
    const TensorMap &map = *plan.findMap(stmt.map);
    const Buffer &buffer = *plan.findBuffer(stmt.ref.buffer);
    if (isOf(stmt, map.colDim) && bitWidth(buffer.elem) * step % (8 * boxAlignment) != 0)
      complain(stmt.loc, fmt::format("the copy engine takes no tiles that begin at multiples of {} elements of `{}`",
                                     step, stmt.view.tensor));
    if (isOf(stmt, map.rowDim))
      for (const Role &role : plan.roles)
        walk(role.body, [&](const Stmt &other) {
          const bool isLike = other.multicast == stmt.multicast && other.along == stmt.along;
          if (other.kind == Kind::CopyIn && other.map == stmt.map && !(isLike && isOf(other, map.rowDim)))
            complain(stmt.loc, fmt::format("`{}` is loaded in several ways", stmt.view.tensor));
        });
  }

  /// Whether a dim of what is copied is the tile of the axis.
  bool isOf(const Stmt &copy, int dim) const {
    return dim >= 0 && isTile(copy.view.indices[static_cast<size_t>(dim)], copy, axis.name);
  }

  void checkCopyOut(const Stmt &stmt) {
    const auto param = std::find_if(plan.params.begin(), plan.params.end(),
                                    [&](const ir::Param &each) { return each.name == stmt.view.tensor; });
    if (stmt.reducing)
      return complain(stmt.loc, fmt::format("the copy engine adds to `{}`", stmt.view.tensor));
    if (stmt.map.empty())
      return;
    if (stmt.view.indices.size() + 1 > mostDims || bitWidth(param->elem) < 8 || bitWidth(param->elem) * step % 128 != 0)
      return complain(stmt.loc, fmt::format("the copy engine takes no tiles of {} columns of `{}`", step, param->name));
    if (stmt.ref.slice == Division::Cols)
      return complain(stmt.loc, "warpgroups share out the columns");
    for (const Role &role : plan.roles)
      walk(role.body, [&](const Stmt &other) {
        if (other.kind == Kind::CopyIn && other.map == stmt.map)
          complain(stmt.loc, fmt::format("`{}` is loaded as it is stored", param->name));
      });
  }

  void checkStatement(const Stmt &stmt) {
    switch (stmt.kind) {
    case Kind::Compute:
      if (!stmt.ref.buffer.empty() || !isWorkOnElements(stmt))
        complain(stmt.loc, fmt::format("`{}` may combine columns", ir::spelling(stmt.op)));
      return;
    case Kind::StoreShared:
      for (const Role &role : plan.roles)
        walk(role.body, [&](const Stmt &other) {
          for (const BufferRef &ref : other.kind == Kind::Product ? operandRefs(other) : std::vector<BufferRef>())
            if (ref.buffer == stmt.ref.buffer)
              complain(stmt.loc, "what was computed is multiplied again");
        });
      return;
    case Kind::LoadShared:
    case Kind::LookUp:
    case Kind::Spread:
    case Kind::Atomic:
    case Kind::Each:
    case Kind::LoadTensor:
    case Kind::StoreTensor:
    case Kind::Claim:
    case Kind::Fetch:
    case Kind::Place:
      return complain(stmt.loc, "there is more than products, work on elements and stores");
    default:
      return;
    }
  }

  /// Its columns are those of the tile.
  void checkProduct(const Role &role, const Stmt &stmt) {
    const Var *result = role.findVar(stmt.dest);
    if (!result || stmt.isSynchronous() || stmt.isTensorProduct() || !stmt.scales.empty() || !stmt.aShared ||
        !stmt.accumulate || stmt.byPair)
      return complain(stmt.loc,
                      "a product is not one of Hopper's, of two operands in shared memory and without scales");
    if (result->type.cols != axis.tileSize || result->type.division == Division::Cols)
      return complain(stmt.loc, fmt::format("a product has other columns than tiles of `{}`", axis.name));
    if (!allFilled(stmt.ref.buffer, [&](const Stmt &copy) { return hasColumns(copy, stmt.ref.transposed); }))
      complain(stmt.loc, fmt::format("the columns of a product are none of `{}`", axis.name));
    if (!allFilled(stmt.aRef.buffer, [&](const Stmt &copy) { return !uses(copy, axis.name); }))
      complain(stmt.loc, fmt::format("a left operand depends on `{}`", axis.name));
  }

  /// Whether a copy brings a right operand whose columns, as stored or transposed, are the axis'.
  bool hasColumns(const Stmt &copy, bool transposed) const {
    const TensorMap *map = plan.findMap(copy.map);
    if (!map || copy.ref.transposed)
      return false;
    return isOf(copy, transposed ? map->rowDim : map->colDim);
  }

  /// Whether copies fill the buffer, all of this kind.
  template <class Is> bool allFilled(const std::string &buffer, const Is &is) const {
    bool any = false, all = true;
    for (const Role &role : plan.roles)
      walk(role.body, [&](const Stmt &stmt) {
        if (stmt.kind != Kind::CopyIn || stmt.ref.buffer != buffer)
          return;
        any = true;
        all &= is(stmt);
      });
    return any && all;
  }

  const Plan &plan;
  const GridAxis &axis;
  const int64_t step;
  int products = 0;
  std::optional<Obstacle> found;
};

} // namespace

std::optional<Obstacle> whyNoFewerColumns(const Plan &plan, const std::string &axis, int64_t step) {
  const auto it = std::find_if(plan.grid.axes.begin(), plan.grid.axes.end(),
                               [&](const GridAxis &each) { return each.name == axis && each.tileSize > 0; });
  if (it == plan.grid.axes.end())
    return Obstacle{plan.loc, "no axis of the grid has their columns"};
  return Columns(plan, *it, step).run();
}

bool storesColumns(const Stmt &stmt, const std::string &axis) {
  return stmt.kind == Kind::CopyOut && !stmt.map.empty() && isTile(stmt.view.indices.back(), stmt, axis);
}

bool loadsColumnsAsRows(const Plan &plan, const Stmt &copy) {
  const GridAxis *axis = plan.steppedAxis();
  const TensorMap *map = plan.findMap(copy.map);
  return axis && map && copy.kind == StmtKind::CopyIn && map->rowDim >= 0 &&
         isTile(copy.view.indices[static_cast<size_t>(map->rowDim)], copy, axis->name);
}

int blocksThatShareRows(const Plan &plan, const Stmt &copy) {
  return copy.multicast == Division::Rows ? plan.blocksAlong(copy.along) : 1;
}

} // namespace tkc::plan
