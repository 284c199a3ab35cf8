// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/SplitK.h"

#include "backends/plan/grid/LoopSums.h"
#include "backends/plan/grid/OnlineParts.h"
#include "backends/plan/grid/SumSlices.h"
#include "backends/plan/roles/IntegerCode.h"
#include "backends/plan/roles/TileNumbers.h"
#include "ir/plan/Turns.h"
#include <algorithm>
#include <fmt/core.h>
#include <numeric>
#include <set>
#include <utility>

namespace tkc::planner {
namespace {

using Kind = plan::StmtKind;
using plan::Stmt;

plan::VarType integer() {
  plan::VarType type;
  type.kind = plan::VarType::Scalar;
  type.elem = ElemType::I32;
  return type;
}

class Splitter {
public:
  Splitter(plan::Plan &plan, int blocks, std::optional<OnlineSums> online)
      : plan(plan), blocks(blocks), online(online) {
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
    for (plan::Role &role : plan.roles)
      if (const std::string why = whyNot(role); !why.empty())
        return why;
    if (std::any_of(plan.roles.begin(), plan.roles.end(),
                    [&](const plan::Role &role) { return rangeOf(role) != rangeOf(plan.roles.front()); }))
      return "the last tile, which a mask cuts, is not loaded as the others are";
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
    std::string why;
    const std::optional<LoopsOfProducts> loops = findLoops(role, why);
    if (!loops)
      return why;
    if (why = whyNoRange(role, *loops); !why.empty())
      return why;
    const CarriedByLoops carried = carriedBy(role, *loops);
    return online ? whyNotOnline(role, *loops, carried) : whyNoSums(role, *loops, carried.tiles, "block");
  }

  /// The range of a role's loops, as text.
  std::string rangeOf(const plan::Role &role) const {
    std::string why;
    const LoopsOfProducts loops = *findLoops(role, why);
    return textOf(role, role.body[loops.first].operands[0]) + ".." + textOf(role, role.body[loops.last].operands[1]);
  }

  /// How a number is computed.
  static std::string textOf(const plan::Role &role, const std::string &name, int depth = 0) {
    const Stmt *stmt = definition(role.body, name);
    if (!stmt || depth > 16)
      return name;
    std::string text =
        fmt::format("{} {} {} {}", static_cast<int>(stmt->op), stmt->constant, stmt->name, stmt->view.tensor);
    for (const std::string &operand : stmt->operands)
      text += fmt::format("({})", textOf(role, operand, depth + 1));
    return text;
  }

  /// Loops that follow each other go over one range if each begins where the one before ends, with whole tiles before.
  std::string whyNoRange(const plan::Role &role, const LoopsOfProducts &loops) const {
    const Stmt *before = nullptr;
    const Stmt &first = role.body[loops.first];
    for (size_t i = loops.first; i <= loops.last; ++i) {
      const Stmt &stmt = role.body[i];
      if (stmt.kind != Kind::For) {
        if (!isInteger(role, stmt))
          return "more than numbers stands between the loops";
        continue;
      }
      const bool goesOn = before && stmt.operands[0] == before->operands[1] && stmt.tileSize == first.tileSize &&
                          isAfterWhole(role, loops, stmt.operands[0]);
      const bool isJoined = stmt.operands.size() == 2 || (before && stmt.operands[2] == first.operands[0]);
      if ((before && !goesOn) || !isJoined)
        return "the loops are no parts of one range, of whole tiles but for the last";
      before = &stmt;
    }
    return {};
  }

  /// Computes a number of numbers.
  static bool isInteger(const plan::Role &role, const Stmt &stmt) {
    const plan::Var *var = stmt.kind == Kind::Compute ? role.findVar(stmt.dest) : nullptr;
    return var && var->type.kind == plan::VarType::Scalar;
  }

  /// Whether whole tiles lie between the begin of the range and a number, or the range ends there.
  bool isAfterWhole(const plan::Role &role, const LoopsOfProducts &loops, const std::string &name) const {
    const std::string &lo = role.body[loops.first].operands[0], &hi = role.body[loops.last].operands[1];
    const int64_t tile = role.body[loops.first].tileSize;
    if (name == lo || name == hi || (isMultiple(role, name, tile) && isMultiple(role, lo, tile)))
      return true;
    const Stmt *stmt = definition(role.body, name);
    if (!stmt || stmt->kind != Kind::Compute || stmt->operands.size() != 2)
      return false;
    const std::string &one = stmt->operands[0], &other = stmt->operands[1];
    if (stmt->op == ir::OpKind::Add)
      return (one == lo && isMultiple(role, other, tile)) || (other == lo && isMultiple(role, one, tile));
    return (stmt->op == ir::OpKind::Min || stmt->op == ir::OpKind::Max) && isAfterWhole(role, loops, one) &&
           isAfterWhole(role, loops, other);
  }

  /// Whether a number is a multiple of another, by how it is computed.
  bool isMultiple(const plan::Role &role, const std::string &name, int64_t of) const {
    const Stmt *stmt = definition(role.body, name);
    stmt = stmt ? stmt : definition(plan.prelude, name);
    if (!stmt || stmt->kind != Kind::Compute)
      return false;
    const auto is = [&](size_t i) { return isMultiple(role, stmt->operands[i], of); };
    switch (stmt->op) {
    case ir::OpKind::Const:
      return static_cast<int64_t>(stmt->constant) % of == 0;
    case ir::OpKind::Mul:
      return is(0) || is(1);
    case ir::OpKind::Add:
    case ir::OpKind::Sub:
    case ir::OpKind::Min:
    case ir::OpKind::Max:
      return is(0) && is(1);
    default:
      return false;
    }
  }

  /// `online` says that the kernel's loops carry such sums alone: here are as many.
  std::string whyNotOnline(const plan::Role &role, const LoopsOfProducts &loops, const CarriedByLoops &carried) const {
    const auto isProduct = [](const Stmt &stmt) { return stmt.kind == Kind::Product; };
    const bool multiplies =
        std::any_of(role.body.begin(), role.body.end(), [&](const Stmt &stmt) { return plan::any(stmt, isProduct); });
    if (!multiplies && carried.tiles.empty() && carried.columns.empty() && carried.maxima.empty() && !carried.others)
      return {}; // a role that loads
    const plan::VarType *like = carried.tiles.empty() ? nullptr : &role.findVar(carried.tiles.front())->type;
    const auto isBeside = [&](const std::string &name) {
      const plan::VarType &type = role.findVar(name)->type;
      return type.elem == ElemType::F32 && type.rows == like->rows && type.layout == like->layout &&
             type.division == like->division && type.division != plan::Division::Cols;
    };
    const auto all = [&](const std::vector<std::string> &names) {
      return std::all_of(names.begin(), names.end(), isBeside);
    };
    if (!like || carried.others || carried.maxima.size() != 1 ||
        carried.tiles.size() + carried.columns.size() != online->sums || !all(carried.tiles) || !all(carried.columns) ||
        !all(carried.maxima))
      return "sums that go by a maximum are tiles and columns of several rows, each in one warp";
    for (size_t i = loops.first; i <= loops.last; ++i)
      if (plan::any(role.body[i], [](const Stmt &stmt) { return stmt.byThreads; }))
        return "a row's sums are kept in parts";
    return {};
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
    std::string why;
    const LoopsOfProducts chain = *findLoops(role, why);
    const CarriedByLoops carried = carriedBy(role, chain);
    plan::Body all = std::move(role.body), loops;
    role.body.clear();
    for (size_t i = 0; i <= chain.last; ++i)
      (all[i].kind == Kind::For && i >= chain.first ? loops : role.body).push_back(std::move(all[i]));
    narrow(role, loops);
    std::move(loops.begin(), loops.end(), std::back_inserter(role.body));
    const auto behind = all.begin() + static_cast<ptrdiff_t>(chain.last + 1), after = endOfFrees(behind, all.end());
    std::move(behind, after, std::back_inserter(role.body));
    plan::Body rest(std::make_move_iterator(after), std::make_move_iterator(all.end()));
    if (!carried.tiles.empty()) {
      if (plan::takesTurns(role))
        addUpInFirst(role, carried, std::move(rest));
      else
        addUp(role, carried, std::move(rest));
      plan::append(role.finish, plan::ClusterSync(), plan.loc); // until the others have read
    } else {
      std::move(rest.begin(), rest.end(), std::back_inserter(role.body));
    }
  }

  /// The end of what gives back operands that were loaded before the loop, all blocks theirs.
  static plan::Body::iterator endOfFrees(plan::Body::iterator from, plan::Body::iterator end) {
    plan::Body::iterator last = from;
    for (auto it = from;
         it != end && (it->kind == Kind::Sync || it->kind == Kind::Arrive || it->kind == Kind::Advance);)
      if (it++->kind != Kind::Sync)
        last = it;
    return last;
  }

  /// The range of the loops becomes the block's part of it: so many whole tiles, and the last block has what is left.
  void narrow(plan::Role &role, plan::Body &loops) {
    using ir::OpKind;
    plan::Body &body = role.body;
    IntegerCode code(role, taken, loops.front().loc);
    const int64_t tile = loops.front().tileSize;
    const std::string lo = loops.front().operands[0], hi = loops.back().operands[1];
    const std::string extent = code.compute(body, OpKind::Sub, "extent_value", {hi, lo});
    const std::string rest = code.constant(body, "rest_value", tile * blocks - 1),
                      whole = code.constant(body, "whole_value", tile * blocks);
    const std::string padded = code.compute(body, OpKind::Add, "padded_value", {extent, rest});
    const std::string tiles = code.compute(body, OpKind::Div, "tiles_value", {padded, whole});
    const std::string size = code.constant(body, "size_value", tile);
    const std::string share = code.compute(body, OpKind::Mul, "part_size", {tiles, size});
    const std::string skipped = code.compute(body, OpKind::Mul, "skipped_value", {share, part});
    const std::string from = code.compute(body, OpKind::Add, "from_value", {lo, skipped});
    const std::string begin = code.compute(body, OpKind::Min, "part_begin", {from, hi});
    const std::string to = code.compute(body, OpKind::Add, "to_value", {begin, share});
    const std::string end = code.compute(body, OpKind::Min, "part_end", {to, hi});
    std::string next = begin;
    for (Stmt &loop : loops) {
      const std::string start = std::exchange(loop.operands[0], next);
      countTilesFrom(start, loop, body, code);
      if (&loop != &loops.back()) {
        const std::string later = code.compute(body, OpKind::Max, "later_value", {loop.operands[1], begin});
        next = code.compute(body, OpKind::Min, "part_split", {later, end});
      }
      loop.operands[1] = &loop == &loops.back() ? end : next;
      if (loop.operands.size() > 2)
        loop.operands[2] = begin;
    }
  }

  /// Every block leaves its sums where the others can read them, and adds up its share of the columns, or the first
  /// block adds up all.
  void addUp(plan::Role &role, const CarriedByLoops &carried, plan::Body rest) {
    const SourceLoc loc = rest.empty() || !rest.front().loc.isValid() ? plan.loc : rest.front().loc;
    const std::vector<std::string> &sums = carried.tiles;
    const std::optional<SumSlices> slices = SumSlices::of(plan, role, sums, rest, blocks);
    inSlices = slices.has_value();
    std::optional<OnlineParts> parts;
    if (online)
      parts.emplace(plan, role, *online, carried.maxima.front(), carried.columns, blocks, taken);
    for (const std::string &sum : sums)
      leave(role, sum, slices ? slices->columns() : role.findVar(sum)->type.cols, loc);
    if (parts)
      parts->leave(role.body, role.findVar(sums.front())->type, loc);
    plan::append(role.body, plan::ClusterSync(), loc);
    const std::vector<std::string> scales = parts ? parts->merge(role.body, loc) : std::vector<std::string>();
    plan::Body after = slices ? slices->lower(role, std::move(rest), part, bufferOf, scales, taken)
                              : inFirst(role, sums, scales, std::move(rest), loc);
    std::move(after.begin(), after.end(), std::back_inserter(role.body));
  }

  /// Where warpgroups of each block have parts of its sums (SplitInBlock.h), the first one, which adds these up, does
  /// what is to be done, but for the barrier of all.
  void addUpInFirst(plan::Role &role, const CarriedByLoops &carried, plan::Body rest) {
    Stmt first = std::move(rest.back());
    rest.pop_back();
    std::move(rest.begin(), rest.end(), std::back_inserter(role.body));
    const auto after = first.body.begin() + static_cast<ptrdiff_t>(endOfAdditions(role, first.body));
    rest.assign(std::make_move_iterator(after), std::make_move_iterator(first.body.end()));
    first.body.erase(after, first.body.end());
    Stmt second = first;
    second.body.clear();
    const size_t at = role.body.size();
    role.body.push_back(std::move(first));
    addUp(role, carried, std::move(rest));
    const auto begin = role.body.begin() + static_cast<ptrdiff_t>(at + 1);
    const auto meeting =
        std::find_if(begin, role.body.end(), [](const Stmt &stmt) { return stmt.kind == Kind::ClusterSync; });
    std::move(begin, meeting, std::back_inserter(role.body[at].body));
    std::move(meeting + 1, role.body.end(), std::back_inserter(second.body));
    Stmt sync = std::move(*meeting);
    role.body.resize(at + 1);
    role.body.push_back(std::move(sync));
    role.body.push_back(std::move(second));
  }

  /// Behind the last one of what other warpgroups have left in buffers.
  static size_t endOfAdditions(const plan::Role &role, const plan::Body &body) {
    std::set<std::string> left;
    plan::walk(role.body, [&](const Stmt &stmt) {
      if (stmt.kind == Kind::StoreShared)
        left.insert(stmt.ref.buffer);
    });
    const auto last = std::find_if(body.rbegin(), body.rend(), [&](const Stmt &stmt) {
      return stmt.kind == Kind::LoadShared && left.count(stmt.ref.buffer) != 0;
    });
    return static_cast<size_t>(last.base() - body.begin()) + 1;
  }

  /// `readCols`: columns that a block reads at once, whole panels.
  void leave(plan::Role &role, const std::string &sum, int64_t readCols, SourceLoc loc) {
    const plan::VarType type = role.findVar(sum)->type;
    const std::string buffer = bufferOf[sum] = freshName(sum + "_part", taken);
    const bool isDivided = plan::heldPart(type) == plan::Division::Cols; // an instance writes whole panels, too
    const int64_t panels = isDivided ? std::gcd(readCols, type.cols / role.instances) : readCols;
    plan.buffers.push_back(bufferOfPart(buffer, type, panels, loc));
    Stmt &write = plan::append(role.body, Kind::StoreShared, loc);
    write.operands = {sum};
    write.ref = {buffer, "", false, plan::heldPart(type)};
  }

  /// The first block adds up all, and has the rest of the role for itself.
  plan::Body inFirst(plan::Role &role, const std::vector<std::string> &sums, const std::vector<std::string> &scales,
                     plan::Body rest, SourceLoc loc) {
    plan::Body body;
    IntegerCode code(role, taken, loc);
    const std::string zero = code.constant(body, "first_value", 0);
    const std::string isFirst = code.compute(body, ir::OpKind::Eq, "is_first_value", {part, zero});
    role.vars.back().type.elem = ElemType::Bool;
    Stmt branch;
    branch.kind = Kind::If;
    branch.loc = loc;
    branch.operands = {isFirst};
    for (const std::string &sum : sums)
      if (!scales.empty())
        inPlace(branch.body, ir::OpKind::Mul, sum, scales.front(), loc);
    for (int block = 1; block < blocks; ++block)
      for (const std::string &sum : sums)
        add(role, branch.body, sum, block, scales, loc);
    std::move(rest.begin(), rest.end(), std::back_inserter(branch.body));
    body.push_back(std::move(branch));
    return body;
  }

  void add(plan::Role &role, plan::Body &body, const std::string &sum, int block,
           const std::vector<std::string> &scales, SourceLoc loc) {
    const plan::VarType type = role.findVar(sum)->type;
    const std::string theirs = freshName(sum + "_value_of_" + std::to_string(block), taken);
    role.vars.push_back({theirs, type});
    Stmt &read = plan::append(body, Kind::LoadShared, loc);
    read.dest = theirs;
    read.ref = {bufferOf.at(sum), "", false, plan::heldPart(type)};
    read.fromBlock = block;
    if (!scales.empty())
      inPlace(body, ir::OpKind::Mul, theirs, scales[static_cast<size_t>(block)], loc);
    inPlace(body, ir::OpKind::Add, sum, theirs, loc);
  }

  static void inPlace(plan::Body &body, ir::OpKind op, const std::string &name, const std::string &by, SourceLoc loc) {
    Stmt &stmt = plan::append(body, Kind::Compute, loc);
    stmt.op = op;
    stmt.dest = name;
    stmt.operands = {name, by};
  }

  plan::Plan &plan;
  const int blocks;
  const std::optional<OnlineSums> online;
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
  std::string why;
  const std::optional<OnlineSums> online = findOnlineSums(tiles.nest, why);
  if (!why.empty())
    return why;
  Splitter splitter(plan, blocks, online);
  if (why = splitter.run(); !why.empty())
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
