// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/grid/SumSlices.h"

#include "backends/plan/analysis/AfterProducts.h"
#include "backends/plan/roles/IntegerCode.h"
#include "ir/plan/Turns.h"

#include <algorithm>

namespace tkc::planner {
namespace {

using ir::OpKind;
using Kind = plan::StmtKind;
using plan::Stmt;

/// Columns that one instruction's piece of an accumulator has.
constexpr int64_t columnsOfLayout = 8;

bool hasColumns(const plan::VarType &type) {
  return type.kind == plan::VarType::Fragment || type.kind == plan::VarType::Row;
}

bool writesTensor(const Stmt &stmt) { return stmt.kind == Kind::Store || stmt.kind == Kind::Atomic; }

bool accessesTensor(const Stmt &stmt) { return stmt.kind == Kind::Load || writesTensor(stmt); }

/// Each element of the result is made of elements at its place.
bool isElementwise(const Stmt &stmt) {
  if (stmt.kind == Kind::Move)
    return true;
  return stmt.kind == Kind::Compute && stmt.ref.buffer.empty() && isWorkOnElements(stmt.op);
}

/// The index along the last axis that a slice of two axes, or of one, keeps; null: there is none.
template <class AnyStmt> auto lastIndex(AnyStmt &stmt) {
  const auto index = std::find_if(stmt.view.indices.rbegin(), stmt.view.indices.rend(),
                                  [](const ir::ViewIndex &each) { return each.kind != ir::ViewIndex::Element; });
  return index == stmt.view.indices.rend() ? nullptr : &*index;
}

/// The tile index along that axis; empty: it is something else.
std::string lastAxis(const Stmt &stmt) {
  const ir::ViewIndex *index = lastIndex(stmt);
  return index && index->kind == ir::ViewIndex::Tiled && index->divisor == 1 ? stmt.operands[index->operand] : "";
}

/// Whether that axis is all of a dim of so many elements.
bool takesAll(const Stmt &stmt, int64_t cols) {
  const ir::ViewIndex *index = lastIndex(stmt);
  return index && index->kind == ir::ViewIndex::All && index->hi == cols && !stmt.hasElse;
}

/// Looks through what follows the sums.
class Rest {
public:
  Rest(const plan::Plan &plan, const plan::Role &role, const std::vector<std::string> &sums, const plan::Body &body)
      : plan(plan), role(role), sums(sums), body(body), cols(role.findVar(sums.front())->type.cols),
        isOfFirst(plan::takesTurns(role)) {}

  /// The axis of the grid along which all columns lie, empty where they are all of a dim; null where not all work is on
  /// elements.
  std::optional<std::string> axis() {
    const auto store = std::find_if(body.begin(), body.end(), [&](const Stmt &stmt) {
      const plan::VarType *type = writesTensor(stmt) ? typeOf(stmt.operands.back()) : nullptr;
      return type && hasColumns(*type);
    });
    if (store == body.end() || !std::all_of(sums.begin(), sums.end(), [&](auto &sum) { return isSplit(sum); }))
      return std::nullopt;
    found = lastAxis(*store);
    const bool isAxis = std::any_of(plan.grid.axes.begin(), plan.grid.axes.end(), [&](const plan::GridAxis &each) {
      return each.name == found && each.tileSize == cols;
    });
    const bool suitsAll = (isAxis || takesAll(*store, cols)) && knowsNothingElse() &&
                          std::all_of(body.begin(), body.end(), [&](const Stmt &stmt) { return suits(stmt); });
    return suitsAll ? std::optional(found) : std::nullopt;
  }

private:
  /// Whether instances of the role share out no columns of it.
  bool isSplit(const std::string &name) const {
    const plan::VarType &type = role.findVar(name)->type;
    return type.kind == plan::VarType::Fragment && type.cols == cols && type.layout.kind == plan::Layout::Mma &&
           (type.division == plan::Division::Rows || role.instances == 1 ||
            (type.division == plan::Division::Whole && isOfFirst));
  }

  const plan::VarType *typeOf(const std::string &name) const {
    const plan::Var *var = role.findVar(name);
    return var ? &var->type : nullptr;
  }

  /// Scalars, columns, and what has the columns of the sums.
  bool suits(const std::string &name) const {
    const plan::VarType *type = typeOf(name);
    return !type || (!hasColumns(*type) && type->kind != plan::VarType::Cursor) ||
           (type->cols == cols && (type->division != plan::Division::Cols || role.instances == 1));
  }

  bool suits(const Stmt &stmt) const {
    if (!stmt.dest.empty() && !suits(stmt.dest))
      return false;
    return accessesTensor(stmt) ? suitsAccess(stmt) : isElementwise(stmt) && suitsWork(stmt);
  }

  /// Numbers of columns are a row of the axis' tile.
  bool suitsWork(const Stmt &stmt) const {
    const bool isNumbered = stmt.op == OpKind::Elements || stmt.op == OpKind::Philox || stmt.op == OpKind::ExternCall;
    if (found.empty() && isNumbered)
      return false;
    const bool usesAxis = std::find(stmt.operands.begin(), stmt.operands.end(), found) != stmt.operands.end();
    const plan::VarType *type = typeOf(stmt.dest);
    return !usesAxis || (stmt.op == OpKind::Elements && type && type->kind == plan::VarType::Row);
  }

  bool suitsAccess(const Stmt &stmt) const {
    const std::string &held = writesTensor(stmt) ? stmt.operands.back() : stmt.dest;
    const plan::VarType *type = typeOf(held);
    const auto uses = std::count(stmt.operands.begin(), stmt.operands.end(), found);
    if (stmt.view.hasGather() || !type || !suits(held) || stmt.firstInstance || stmt.own)
      return false;
    if (!hasColumns(*type))
      return uses == 0;
    return (found.empty() ? takesAll(stmt, cols) : uses == 1 && lastAxis(stmt) == found) &&
           (type->kind == plan::VarType::Fragment || !writesTensor(stmt));
  }

  /// Tiles are either the sums, or made here, and read here alone. What is stored is read at its own place at most.
  bool knowsNothingElse() const {
    std::set<std::string> made, written;
    for (const Stmt &stmt : body) {
      if (writesTensor(stmt))
        written.insert(stmt.view.tensor);
      for (const std::string &operand : stmt.operands)
        if (const plan::VarType *type = typeOf(operand);
            type && hasColumns(*type) && !isSum(operand) && made.count(operand) == 0)
          return false;
      made.insert(stmt.dest);
    }
    const auto isTile = [&](const std::string &name) {
      const plan::VarType *type = typeOf(name);
      return type && hasColumns(*type) && made.count(name) != 0 && !isSum(name);
    };
    bool alone = true;
    for (const plan::Body *before : {&role.body, &role.finish})
      plan::walk(*before, [&](const Stmt &stmt) {
        alone &= written.count(stmt.view.tensor) == 0 && !isTile(stmt.dest) &&
                 std::none_of(stmt.operands.begin(), stmt.operands.end(), isTile);
      });
    return alone && std::none_of(body.begin(), body.end(), [&](const Stmt &stmt) {
             return stmt.kind == Kind::Load && written.count(stmt.view.tensor) != 0 &&
                    typeOf(stmt.dest)->kind != plan::VarType::Fragment;
           });
  }

  bool isSum(const std::string &name) const { return std::find(sums.begin(), sums.end(), name) != sums.end(); }

  const plan::Plan &plan;
  const plan::Role &role; ///< without `body`
  const std::vector<std::string> &sums;
  const plan::Body &body;
  const int64_t cols;
  const bool isOfFirst; ///< instances have taken turns, and the first one alone does the rest (SplitInBlock.h)
  std::string found;
};

} // namespace

std::optional<SumSlices> SumSlices::of(const plan::Plan &plan, const plan::Role &role,
                                       const std::vector<std::string> &sums, const plan::Body &rest, int blocks) {
  const int64_t cols = role.findVar(sums.front())->type.cols;
  if (cols % (blocks * columnsOfLayout) != 0)
    return std::nullopt;
  std::optional<std::string> axis = Rest(plan, role, sums, rest).axis();
  if (!axis)
    return std::nullopt;
  return SumSlices(sums, blocks, std::move(*axis), cols / blocks);
}

/// All reads are under way before the first addition.
void SumSlices::addUp(plan::Role &role, plan::Body &body, const std::string &sum, const std::string &share,
                      const std::string &buffer, const std::vector<std::string> &scales, SourceLoc loc,
                      std::set<std::string> &taken) const {
  const plan::VarType type = role.findVar(share)->type;
  std::vector<std::string> others;
  for (int block = 0; block < blocks; ++block) {
    std::string dest = share;
    if (block > 0) {
      dest = others.emplace_back(freshName(sum + "_of_" + std::to_string(block), taken));
      role.vars.push_back({dest, type});
    }
    Stmt &read = plan::append(body, Kind::LoadShared, loc);
    read.dest = dest;
    read.ref = {buffer, "", false, plan::heldPart(type)};
    read.share = plan::Division::Cols;
    read.fromBlock = block;
  }
  const auto inPlace = [&](OpKind op, const std::string &name, const std::string &by) {
    Stmt &stmt = plan::append(body, Kind::Compute, loc);
    stmt.op = op;
    stmt.dest = name;
    stmt.operands = {name, by};
  };
  if (!scales.empty())
    inPlace(OpKind::Mul, share, scales.front());
  for (size_t i = 0; i < others.size(); ++i) {
    if (!scales.empty())
      inPlace(OpKind::Mul, others[i], scales[i + 1]);
    inPlace(OpKind::Add, share, others[i]);
  }
}

/// A share of the columns takes the place of all of a dim, by an index of its own.
void SumSlices::narrow(Stmt &stmt, const std::string &share) const {
  if (!axis.empty() || !accessesTensor(stmt) || !takesAll(stmt, cols * blocks))
    return;
  const size_t at = writesTensor(stmt) ? stmt.operands.size() - 1 : stmt.operands.size();
  ir::ViewIndex &index = *lastIndex(stmt);
  index = {};
  index.kind = ir::ViewIndex::Tiled;
  index.operand = static_cast<unsigned>(at);
  stmt.operands.insert(stmt.operands.begin() + static_cast<ptrdiff_t>(at), share);
}

plan::Body SumSlices::lower(plan::Role &role, plan::Body rest, const std::string &part,
                            const std::map<std::string, std::string> &bufferOf, const std::vector<std::string> &scales,
                            std::set<std::string> &taken) const {
  const SourceLoc loc = rest.front().loc;
  plan::Body result;
  IntegerCode code(role, taken, loc);
  // No sum but that of what exists is formed, as a tile may end where i32 does.
  const bool isAxis = !axis.empty();
  const std::string begin =
      isAxis ? code.compute(result, OpKind::Begin, "begin_value", {axis}) : code.constant(result, "begin_value", 0);
  const std::string end = isAxis ? code.compute(result, OpKind::End, "end_value", {axis})
                                 : code.constant(result, "end_value", cols * blocks);
  const std::string size = code.constant(result, "share_size", cols);
  const std::string skipped = code.compute(result, OpKind::Mul, "skipped_value", {part, size});
  const std::string from = code.compute(result, OpKind::Add, "share_begin", {begin, skipped});
  const std::string left = code.compute(result, OpKind::Sub, "left_value", {end, from});
  const std::string extent = code.compute(result, OpKind::Min, "extent_value", {left, size});
  const std::string to = code.compute(result, OpKind::Add, "share_end", {from, extent});

  std::map<std::string, std::string> renamed;
  Stmt loop;
  loop.kind = Kind::For;
  loop.loc = loc;
  loop.tileSize = cols;
  loop.operands = {from, to};
  loop.dest = freshName(isAxis ? axis + "_share" : "cols_share", taken);
  if (isAxis)
    renamed[axis] = loop.dest;
  plan::VarType index;
  index.kind = plan::VarType::TileIndex;
  index.elem = ElemType::I32;
  index.rows = cols;
  role.vars.push_back({loop.dest, index});
  for (const std::string &sum : sums) {
    plan::VarType type = role.findVar(sum)->type;
    type.cols = cols;
    const std::string share = renamed[sum] = freshName(sum + "_share", taken);
    role.vars.push_back({share, type});
    addUp(role, loop.body, sum, share, bufferOf.at(sum), scales, loc, taken);
  }
  const auto storesNoColumns = [&](const Stmt &stmt) {
    return writesTensor(stmt) && !hasColumns(role.findVar(stmt.operands.back())->type);
  };
  Stmt first; // does what all would do alike
  first.kind = Kind::If;
  first.loc = loc;
  if (std::any_of(rest.begin(), rest.end(), storesNoColumns)) {
    const std::string zero = code.constant(result, "first_value", 0);
    first.operands = {code.compute(result, OpKind::Eq, "is_first_value", {part, zero})};
    role.vars.back().type.elem = ElemType::Bool;
  }
  const auto rename = [&](std::string &name) {
    if (const auto entry = renamed.find(name); entry != renamed.end())
      name = entry->second;
  };
  std::set<std::string> narrowed;
  for (Stmt &stmt : rest) {
    rename(stmt.dest);
    std::for_each(stmt.operands.begin(), stmt.operands.end(), rename);
    narrow(stmt, loop.dest);
    narrowed.insert(stmt.dest);
    (storesNoColumns(stmt) ? first.body : loop.body).push_back(std::move(stmt));
  }
  for (plan::Var &var : role.vars)
    if (narrowed.count(var.name) != 0 && hasColumns(var.type))
      var.type.cols = cols;
  if (!first.body.empty())
    loop.body.push_back(std::move(first));
  result.push_back(std::move(loop));
  return result;
}

} // namespace tkc::planner
