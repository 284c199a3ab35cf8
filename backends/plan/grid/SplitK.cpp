// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/SplitK.h"

#include "backends/plan/grid/IntegerCode.h"
#include "backends/plan/grid/SumSlices.h"
#include "backends/plan/placement/TensorMaps.h"
#include <algorithm>
#include <fmt/core.h>
#include <set>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;
using plan::Stmt;

/// Copies of operands, or products.
bool worksOnTiles(const Stmt &stmt) { return stmt.kind == Kind::CopyIn || stmt.kind == Kind::Product; }

plan::VarType integer() {
  plan::VarType type;
  type.kind = plan::VarType::Scalar;
  type.elem = ElemType::I32;
  return type;
}

class Splitter {
public:
  Splitter(plan::Plan &plan, int blocks) : plan(plan), blocks(blocks) {
    for (const plan::Var &var : plan.preludeVars)
      taken.insert(var.name);
    for (const plan::GridAxis &axis : plan.grid.axes)
      taken.insert(axis.name);
    for (const plan::Role &role : plan.roles)
      for (const plan::Var &var : role.vars)
        taken.insert(var.name);
    for (const plan::Buffer &buffer : plan.buffers)
      taken.insert(buffer.name);
  }

  /// What stands against it, or nothing.
  std::string run() {
    for (const plan::Role &role : plan.roles)
      if (const std::string why = whyNot(role); !why.empty())
        return why;
    addAxis();
    for (plan::Role &role : plan.roles)
      split(role);
    return "";
  }

  /// After `run`: each block adds up its share of the columns.
  bool inSlices = false;

private:
  // ---- what can be split
  std::string whyNot(const plan::Role &role) const {
    const auto isLoop = [](const Stmt &stmt) { return plan::any(stmt, worksOnTiles); };
    const auto loop = std::find_if(role.body.begin(), role.body.end(), isLoop);
    if (loop == role.body.end() || loop->kind != Kind::For || loop->tileSize == 0 || loop->operands.size() != 2)
      return "there is no loop over tiles that has all copies and products";
    if (std::find_if(loop + 1, role.body.end(), isLoop) != role.body.end())
      return "copies or products follow the first loop";
    const std::vector<std::string> sums = sumsOf(role, *loop);
    const auto isSum = [&](const std::string &name) { return std::find(sums.begin(), sums.end(), name) != sums.end(); };
    std::string why;
    plan::walk(loop->body, [&](const Stmt &stmt) {
      const std::string *sum = addsTo(stmt);
      if (!stmt.dest.empty() && !(sum && isSum(*sum)) && isKnownOutside(role, *loop, stmt.dest))
        why = "the loop does more than multiply and add up";
      for (const std::string &operand : stmt.operands)
        if (isSum(operand) && !(sum && *sum == operand))
          why = "the loop reads a sum, of which each block has a part";
    });
    for (const std::string &sum : sums)
      if (why.empty() && !beginsWithZero(role, sum))
        why = "a sum does not begin with zero, which each block would count";
    return why;
  }

  /// The variable to which a statement adds something else: a product to its accumulators, or vector work.
  static const std::string *addsTo(const Stmt &stmt) {
    if (stmt.kind == Kind::Product)
      return stmt.accumulate ? &stmt.dest : nullptr;
    const bool adds = stmt.kind == Kind::Compute && stmt.op == ir::OpKind::Add && stmt.operands.size() == 2 &&
                      (stmt.operands[0] == stmt.dest) != (stmt.operands[1] == stmt.dest);
    return adds ? &stmt.dest : nullptr;
  }

  /// Whether anything but the loop names the variable. Else it is made anew in each iteration, as operands are that are
  /// widened on their way.
  static bool isKnownOutside(const plan::Role &role, const Stmt &loop, const std::string &name) {
    const auto names = [&](const Stmt &stmt) {
      return stmt.dest == name || std::find(stmt.operands.begin(), stmt.operands.end(), name) != stmt.operands.end();
    };
    return std::any_of(role.body.begin(), role.body.end(),
                       [&](const Stmt &stmt) { return &stmt != &loop && plan::any(stmt, names); }) ||
           std::any_of(role.finish.begin(), role.finish.end(),
                       [&](const Stmt &stmt) { return plan::any(stmt, names); });
  }

  /// What the loop adds up: a product that is made anew in each iteration is none of them.
  static std::vector<std::string> sumsOf(const plan::Role &role, const Stmt &loop) {
    std::vector<std::string> names;
    plan::walk(loop.body, [&](const Stmt &stmt) {
      const std::string *sum = addsTo(stmt);
      const plan::Var *var = sum ? role.findVar(*sum) : nullptr;
      if (var && var->type.kind == plan::VarType::Fragment && isKnownOutside(role, loop, *sum) &&
          std::find(names.begin(), names.end(), *sum) == names.end())
        names.push_back(*sum);
    });
    return names;
  }

  static bool beginsWithZero(const plan::Role &role, const std::string &name) {
    const auto definition = [&](const std::string &of) {
      return std::find_if(role.body.begin(), role.body.end(), [&](const Stmt &stmt) { return stmt.dest == of; });
    };
    const auto full = definition(name);
    if (full == role.body.end() || full->kind != Kind::Compute || full->op != ir::OpKind::Full)
      return false;
    const auto value = definition(full->operands[0]);
    return value != role.body.end() && value->kind == Kind::Compute && value->op == ir::OpKind::Const &&
           value->constant == 0;
  }

  // ---- the grid

  /// A block's number in its cluster, as the last axis of the grid.
  void addAxis() {
    plan::GridAxis axis;
    axis.name = part = freshName("part", taken);
    axis.lo = addConstant("first_part", 0);
    axis.hi = addConstant("parts", blocks);
    plan.grid.clusterAxis = axis.name;
    plan.grid.axes.push_back(axis);
    plan.cluster = blocks;
  }

  std::string addConstant(const std::string &hint, int value) {
    const std::string name = freshName(hint, taken);
    plan.preludeVars.push_back({name, integer()});
    Stmt &stmt = plan::append(plan.prelude, Kind::Compute, plan.loc);
    stmt.op = ir::OpKind::Const;
    stmt.constant = value;
    stmt.dest = name;
    return name;
  }

  // ---- a role
  void split(plan::Role &role) {
    const auto loop = std::find_if(role.body.begin(), role.body.end(),
                                   [](const Stmt &stmt) { return plan::any(stmt, worksOnTiles); });
    const std::vector<std::string> sums = sumsOf(role, *loop);
    plan::Body before(std::make_move_iterator(role.body.begin()), std::make_move_iterator(loop));
    Stmt shared = std::move(*loop);
    plan::Body after(std::make_move_iterator(loop + 1), std::make_move_iterator(role.body.end()));
    role.body = std::move(before);
    narrow(role, shared);
    role.body.push_back(std::move(shared));
    if (!sums.empty())
      addUp(role, sums, std::move(after));
    else
      std::move(after.begin(), after.end(), std::back_inserter(role.body));
    if (!sums.empty())
      plan::append(role.finish, plan::ClusterSync(), plan.loc); // until the others have read
  }

  /// The loop's range becomes the block's part of it: so many whole tiles, and the last block has what is left.
  void narrow(plan::Role &role, Stmt &loop) {
    using ir::OpKind;
    plan::Body &body = role.body;
    IntegerCode code(role, taken, loop.loc);
    const std::string lo = loop.operands[0], hi = loop.operands[1];
    const std::string extent = code.compute(body, OpKind::Sub, "extent_value", {hi, lo});
    const std::string rest = code.constant(body, "rest_value", loop.tileSize * blocks - 1),
                      whole = code.constant(body, "whole_value", loop.tileSize * blocks);
    const std::string padded = code.compute(body, OpKind::Add, "padded_value", {extent, rest});
    const std::string tiles = code.compute(body, OpKind::Div, "tiles_value", {padded, whole});
    const std::string size = code.constant(body, "size_value", loop.tileSize);
    const std::string share = code.compute(body, OpKind::Mul, "part_size", {tiles, size});
    const std::string skipped = code.compute(body, OpKind::Mul, "skipped_value", {share, part});
    const std::string from = code.compute(body, OpKind::Add, "from_value", {lo, skipped});
    const std::string begin = code.compute(body, OpKind::Min, "part_begin", {from, hi});
    const std::string to = code.compute(body, OpKind::Add, "to_value", {begin, share});
    const std::string end = code.compute(body, OpKind::Min, "part_end", {to, hi});
    loop.operands = {begin, end};
  }

  /// Every block leaves its sums where the others can read them, and adds up its share of the columns, or the first
  /// block adds up all.
  void addUp(plan::Role &role, const std::vector<std::string> &sums, plan::Body rest) {
    const SourceLoc loc = rest.empty() || !rest.front().loc.isValid() ? plan.loc : rest.front().loc;
    const std::optional<SumSlices> slices = SumSlices::of(plan, role, sums, rest, blocks);
    inSlices = slices.has_value();
    for (const std::string &sum : sums)
      leave(role, sum, slices ? slices->columns() : role.findVar(sum)->type.cols, loc);
    plan::append(role.body, plan::ClusterSync(), loc);
    plan::Body after = slices ? slices->lower(role, std::move(rest), part, bufferOf, taken)
                              : inFirst(role, sums, std::move(rest), loc);
    std::move(after.begin(), after.end(), std::back_inserter(role.body));
  }

  /// `readCols`: columns that a block reads at once, whole panels.
  void leave(plan::Role &role, const std::string &sum, int64_t readCols, SourceLoc loc) {
    const plan::VarType type = role.findVar(sum)->type;
    plan::Buffer buffer;
    buffer.name = bufferOf[sum] = freshName(sum + "_part", taken);
    buffer.elem = type.elem;
    buffer.rows = type.rows;
    buffer.cols = type.cols;
    buffer.swizzle = chooseSwizzle(readCols * byteWidth(type.elem));
    buffer.loc = loc;
    plan.buffers.push_back(buffer);
    Stmt &write = plan::append(role.body, Kind::StoreShared, loc);
    write.operands = {sum};
    write.ref = {buffer.name, "", false, plan::heldPart(type)};
  }

  /// The first block adds up all, and has the rest of the role for itself.
  plan::Body inFirst(plan::Role &role, const std::vector<std::string> &sums, plan::Body rest, SourceLoc loc) {
    plan::Body body;
    IntegerCode code(role, taken, loc);
    const std::string zero = code.constant(body, "first_value", 0);
    const std::string isFirst = code.compute(body, ir::OpKind::Eq, "is_first_value", {part, zero});
    role.vars.back().type.elem = ElemType::Bool;
    Stmt branch;
    branch.kind = Kind::If;
    branch.loc = loc;
    branch.operands = {isFirst};
    for (int block = 1; block < blocks; ++block)
      for (const std::string &sum : sums)
        add(role, branch.body, sum, block, loc);
    std::move(rest.begin(), rest.end(), std::back_inserter(branch.body));
    body.push_back(std::move(branch));
    return body;
  }

  void add(plan::Role &role, plan::Body &body, const std::string &sum, int block, SourceLoc loc) {
    const plan::VarType type = role.findVar(sum)->type;
    const std::string theirs = freshName(sum + "_value_of_" + std::to_string(block), taken);
    role.vars.push_back({theirs, type});
    Stmt &read = plan::append(body, Kind::LoadShared, loc);
    read.dest = theirs;
    read.ref = {bufferOf.at(sum), "", false, plan::heldPart(type)};
    read.fromBlock = block;
    Stmt &both = plan::append(body, Kind::Compute, loc);
    both.op = ir::OpKind::Add;
    both.dest = sum;
    both.operands = {sum, theirs};
  }

  plan::Plan &plan;
  const int blocks;
  std::string part; ///< the axis
  std::set<std::string> taken;
  std::map<std::string, std::string> bufferOf;
};

std::string whyNotSplit(const TileScheduler &tiles, int blocks, bool isShared) {
  const Placement &placement = tiles.placement;
  if (blocks > tiles.arch.maxClusterSize || (blocks & (blocks - 1)) != 0)
    return fmt::format("it must be 1, 2, 4 or {}", tiles.arch.maxClusterSize);
  if (tiles.plan.cluster > 1)
    return "blocks of a cluster have tiles of their own here";
  if (tiles.takesTilesInTurn())
    return tiles.nest.isRagged() ? "the launcher does not know the range of an axis" : "blocks take tile after tile";
  if (isShared || placement.usesTensorMemory() || placement.copiesItself || !placement.hasProducts)
    return "it is for loops of products with accumulators in the registers of all computing warps, which other warps "
           "load for (Hopper)";
  return {};
}

} // namespace

std::string splitK(const TileScheduler &tiles, bool isShared, Placement &placement, plan::Plan &plan) {
  const auto blocks = static_cast<int>(tiles.schedule.split.value_or(1));
  if (blocks == 1)
    return {};
  if (std::string why = whyNotSplit(tiles, blocks, isShared); !why.empty())
    return why;
  Splitter splitter(plan, blocks);
  if (std::string why = splitter.run(); !why.empty())
    return why;
  placement.note(plan::Note::Cluster, {},
                 fmt::format("{} blocks, as the schedule says, each with a part of the loop; {}, of what {} leave in "
                             "their shared memory",
                             blocks,
                             splitter.inSlices ? "each adds up its share of the columns" : "the first adds up the sums",
                             splitter.inSlices ? "all" : "the others"));
  return {};
}

} // namespace tkc::planner
