// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of zeros and ones: their sums and running sums are counts, and what is stored where a running count says is put
// one after another. Such rows take a bit an element, and their sum is the last of the running counts.
#include "backends/emit/kernel/RolePrinter.h"

#include <algorithm>

namespace tkc::cuda {

using ir::OpKind;
using ir::ViewIndex;
using plan::Stmt;
using plan::StmtKind;
using plan::VarType;

/// The statement that computes a variable, if it is of that kind.
const Stmt *RolePrinter::computedBy(const std::string &var, OpKind op) const {
  const Stmt *made = definitionOf(var);
  return made && made->kind == StmtKind::Compute && made->op == op ? made : nullptr;
}

/// The condition of `where(condition, 1, 0)`, a whole row that each of the role's threads has a share of.
std::optional<std::string> RolePrinter::countedCondition(const std::string &row) const {
  const VarType &type = typeOf(row);
  const bool isWhole = type.kind == VarType::Row && type.elem == ElemType::I32 &&
                       type.layout.kind == plan::Layout::Rows && type.layout.threadsPerRow == type.layout.threads &&
                       !type.layout.aligned && role.instances == 1 && type.layout.threads == role.warps * role.lanes;
  const Stmt *chosen = isWhole ? computedBy(row, OpKind::Select) : nullptr;
  if (!chosen || constantOf(chosen->operands[1]) != 1 || constantOf(chosen->operands[2]) != 0)
    return std::nullopt;
  return chosen->operands[0];
}

bool RolePrinter::isCount(const Stmt &stmt) const {
  const bool isSum = stmt.op == OpKind::Reduce && stmt.reduce == ir::ReduceKind::Sum && !stmt.byThreads;
  return stmt.kind == StmtKind::Compute && (isSum || stmt.op == OpKind::Cumsum) && stmt.axis == 1 && stmt.colHi == 0 &&
         stmt.meets.threads <= role.warps * role.lanes && countedCondition(stmt.operands[0]).has_value();
}

/// What `where(taken and place < limit, place, -1)` says of a scatter, `place` being a running count and what scalars
/// add to it.
struct RolePrinter::CountedPlaces {
  const Stmt *count;
  std::vector<std::pair<std::string, bool>> terms; ///< scalars; true: subtracted
  int64_t limit = INT32_MAX;
};

/// The scalars that are added to a running count, or nothing.
const Stmt *RolePrinter::countedPlace(const std::string &place, CountedPlaces &places) const {
  const Stmt *stmt = definitionOf(place);
  if (!stmt || stmt->kind != StmtKind::Compute)
    return nullptr;
  if (stmt->op == OpKind::Cumsum)
    return isCount(*stmt) ? stmt : nullptr;
  if (stmt->op != OpKind::Add && stmt->op != OpKind::Sub)
    return nullptr;
  const size_t row = typeOf(stmt->operands[0]).kind == VarType::Row ? 0 : 1;
  const std::string &scalar = stmt->operands[1 - row];
  if ((stmt->op == OpKind::Sub && row == 1) || typeOf(scalar).kind != VarType::Scalar)
    return nullptr;
  places.terms.emplace_back(scalar, stmt->op == OpKind::Sub);
  return countedPlace(stmt->operands[row], places);
}

/// Whether a condition says of each element that it was counted, as the condition itself or as `taken == 1`.
bool RolePrinter::saysCounted(const std::string &condition, const Stmt &count) const {
  const std::string &row = count.operands[0];
  if (condition == *countedCondition(row))
    return true;
  const Stmt *equal = computedBy(condition, OpKind::Eq);
  return equal && equal->operands[0] == row && constantOf(equal->operands[1]) == 1;
}

std::optional<RolePrinter::CountedPlaces> RolePrinter::countedPlaces(const Stmt &store) const {
  const std::vector<ViewIndex> &indices = store.view.indices;
  const bool alongLast = store.kind == StmtKind::Store && !indices.empty() &&
                         indices.back().kind == ViewIndex::Gather && indices.back().hi == 0 &&
                         std::all_of(indices.begin(), indices.end() - 1, [&](const ViewIndex &index) {
                           return (index.kind == ViewIndex::Element || index.kind == ViewIndex::Gather) &&
                                  typeOf(store.operands[index.operand]).kind == VarType::Scalar;
                         });
  const Stmt *at = alongLast ? computedBy(store.operands[indices.back().operand], OpKind::Select) : nullptr;
  if (!at || isPacked(kernel.findParam(store.view.tensor)->elem) || constantOf(at->operands[2]) != -1)
    return std::nullopt;
  CountedPlaces places{};
  places.count = countedPlace(at->operands[1], places);
  if (!places.count)
    return std::nullopt;
  std::string taken = at->operands[0];
  if (const Stmt *both = computedBy(taken, OpKind::And)) {
    const Stmt *below = computedBy(both->operands[1], OpKind::Lt);
    const std::optional<double> limit = below ? constantOf(below->operands[1]) : std::nullopt;
    if (!limit || *limit < 0 || below->operands[0] != at->operands[1])
      return std::nullopt;
    places.limit = static_cast<int64_t>(*limit);
    taken = both->operands[0];
  }
  return saysCounted(taken, *places.count) && haveSameScalars(places, store) ? std::optional(places) : std::nullopt;
}

/// Whether the scalars are at the store what they were where the places were computed: nothing between sets them.
bool RolePrinter::haveSameScalars(const CountedPlaces &places, const Stmt &store) const {
  const auto isIn = [](const plan::Body &body, const Stmt *stmt) {
    return std::any_of(body.begin(), body.end(), [&](const Stmt &each) { return &each == stmt; });
  };
  bool same = false;
  const auto look = [&](const plan::Body &body) {
    if (!isIn(body, &store) || !isIn(body, places.count))
      return;
    same = true;
    bool between = false;
    for (const Stmt &stmt : body) {
      if (&stmt == &store)
        break;
      between |= &stmt == places.count;
      if (between)
        plan::walk(stmt, [&](const Stmt &inner) {
          for (const auto &[scalar, minus] : places.terms)
            same &= inner.dest != scalar || definitionOf(scalar) == &inner;
        });
    }
  };
  look(role.body);
  plan::walk(role.body, [&](const Stmt &stmt) {
    for (const plan::Body *body : stmt.bodies())
      look(*body);
  });
  return same;
}

/// Empty where the places are no running count, or the count has no name.
std::optional<cpp::Stmt> RolePrinter::countedScatter(const Stmt &store, const cpp::Expr &base,
                                                     const cpp::Expr &stored) {
  const std::optional<CountedPlaces> places = countedPlaces(store);
  if (!places || uses.isInlined(places->count->dest))
    return std::nullopt;
  int64_t known = 1; // a running count has the element itself in it
  cpp::Expr first;
  for (const auto &[scalar, minus] : places->terms) {
    const std::optional<double> number = constantOf(scalar);
    if (number)
      known += static_cast<int64_t>(minus ? -*number : *number);
    else if (!first && !minus)
      first = value(scalar);
    else
      first =
          cpp::call(minus ? "tk::wrapping_sub" : "tk::wrapping_add", {first ? first : cpp::integer(0), value(scalar)});
  }
  const auto wrapped = static_cast<int32_t>(static_cast<uint32_t>(known));
  if (!first || wrapped != 0)
    first = first ? cpp::call("tk::wrapping_add", {first, cpp::integer(wrapped)}) : cpp::integer(wrapped);
  return cpp::Stmt::expression(
      cpp::call("tk::scatter_counted", {base, value(places->count->dest), first, cpp::integer(places->limit), stored}));
}

/// The variable that has the running count of a row, set earlier in the same body.
const Stmt *RolePrinter::runningCountOf(const Stmt &sum) const {
  const Stmt *count = nullptr;
  const auto look = [&](const plan::Body &body) {
    const Stmt *earlier = nullptr;
    for (const Stmt &stmt : body) {
      if (stmt.kind == StmtKind::Compute && stmt.op == OpKind::Cumsum && stmt.operands[0] == sum.operands[0] &&
          isCount(stmt) && !uses.isInlined(stmt.dest))
        earlier = &stmt;
      if (&stmt == &sum)
        count = earlier;
    }
  };
  look(role.body);
  plan::walk(role.body, [&](const Stmt &stmt) {
    for (const plan::Body *body : stmt.bodies())
      look(*body);
  });
  return count;
}

/// A sum of zeros and ones, or a running sum of such.
cpp::Expr RolePrinter::counted(const Stmt &stmt) {
  if (const Stmt *count = stmt.op == OpKind::Reduce ? runningCountOf(stmt) : nullptr)
    return cpp::member(value(count->dest), "total");
  std::vector<cpp::Expr> args = {value(stmt.operands[0])};
  if (!stmt.ref.buffer.empty())
    args.push_back(scratch(stmt));
  return cpp::call(stmt.op == OpKind::Reduce ? "tk::row_count" : "tk::count_cols", std::move(args));
}

} // namespace tkc::cuda
