// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/PartialRowSums.h"

#include "backends/plan/analysis/Nest.h"
#include "ir/Effects.h"

#include <algorithm>
#include <limits>

namespace tkc::planner {
namespace {

/// What one carried value of a loop is computed from.
struct Recurrence {
  const ir::Value *arg = nullptr, *result = nullptr, *initial = nullptr;
  const ir::Op *sum = nullptr;
};

bool isOnlyUsedBy(const ir::Value *value, const ir::Op *user) {
  return value->users.size() == 1 && value->users.front() == user;
}

bool isZero(const ir::Value *value) { return ir::isConstant(value, 0); }

/// arg, or arg times what is the same in all threads of a row; nothing else reads either.
bool isScaled(const ir::Value *value, const ir::Value *arg, const ir::Op *user) {
  if (!isOnlyUsedBy(value, user))
    return false;
  if (value == arg)
    return true;
  const ir::Op *op = value->definingOp;
  return op && op->kind == ir::OpKind::Mul && isOnlyUsedBy(arg, op) && op->operand(0) != op->operand(1) &&
         (op->operand(0) == arg || op->operand(1) == arg);
}

/// The number by which a product of one and something multiplies that; 0: it is none.
double factorOf(const ir::Op &op, const ir::Value *&other) {
  for (const size_t side : {0, 1}) {
    const ir::Op *made = op.operand(side)->definingOp;
    if (op.kind != ir::OpKind::Mul || !made || made->kind != ir::OpKind::Const)
      continue;
    other = op.operand(1 - side);
    return made->constant;
  }
  return 0;
}

/// The one user of a value, or null.
const ir::Op *onlyUser(const ir::Value *value) { return value->users.size() == 1 ? value->users.front() : nullptr; }

bool isExponential(const ir::Op *op) { return op && (op->kind == ir::OpKind::Exp || op->kind == ir::OpKind::Exp2); }

class Finder {
public:
  Finder(const Placement &placement, std::optional<bool> lateSums) : placement(placement), lateSums(lateSums) {}

  void loop(const ir::Op &loop) {
    const ir::Op *yield = loop.body().ops.empty() ? nullptr : loop.body().ops.back().get();
    if (!yield || yield->kind != ir::OpKind::Yield)
      return;
    std::vector<Recurrence> sums, maxima;
    for (size_t i = 0; i < yield->operands().size(); ++i) {
      Recurrence found{loop.body().args[i + 1].get(), loop.result(i), loop.operand(i + 2)};
      if (matches(yield->operand(i), *yield, found))
        sums.push_back(found);
      else if (isMaximum(yield->operand(i), found))
        maxima.push_back(found);
    }
    for (const Recurrence &maximum : maxima)
      for (const Recurrence &sum : sums)
        if (const ir::Op *exponential = exponentialOf(maximum, sum, *yield))
          addBoth(loop, maximum, sum, exponential->kind);
    for (const Recurrence &sum : sums)
      if (!parts.carried.count(sum.arg) && !parts.maximumOf.count(sum.initial))
        add(loop, sum);
  }

  RowParts run() {
    for (const ir::Value *result : results) // those that no further loop goes on with
      if (!continued.count(result))
        parts.ends.insert(result);
    return std::move(parts);
  }

private:
  bool matches(const ir::Value *next, const ir::Op &yield, Recurrence &found) const {
    const ir::Op *add = next->definingOp;
    if (!add || add->kind != ir::OpKind::Add || !isOnlyUsedBy(next, &yield))
      return false;
    for (const size_t side : {0, 1}) {
      const ir::Op *sum = add->operand(side)->definingOp;
      if (sum && isLateReduction(*sum, ir::ReduceKind::Sum) && isOnlyUsedBy(sum->result(), add) &&
          isScaled(add->operand(1 - side), found.arg, add)) {
        found.sum = sum;
        return true;
      }
    }
    return false;
  }

  // ---- maxima
  /// max(arg, rowmax), or of the row's maximum times a positive number. `sum` becomes the reduction.
  bool isMaximum(const ir::Value *next, Recurrence &found) const {
    const ir::Op *max = next->definingOp;
    if (!max || max->kind != ir::OpKind::Max)
      return false;
    for (const size_t side : {0, 1}) {
      const ir::Value *top = max->operand(side);
      if (max->operand(1 - side) != found.arg || !isOnlyUsedBy(top, max))
        continue;
      const ir::Op *made = top->definingOp;
      const ir::Value *inner = nullptr;
      if (made && factorOf(*made, inner) > 0 && isOnlyUsedBy(inner, made))
        made = inner->definingOp;
      if (made && isLateReduction(*made, ir::ReduceKind::Max) && isNumberPerRow(made->operand(0))) {
        found.sum = made;
        return true;
      }
    }
    return false;
  }

  /// Whether a thread's part of a row's reduction is one number.
  bool isNumberPerRow(const ir::Value *value) const { return placement.types.at(value).kind == plan::VarType::Row; }

  /// The exponential through which alone `sum` depends on `maximum`, if nothing else does.
  const ir::Op *exponentialOf(const Recurrence &maximum, const Recurrence &sum, const ir::Op &yield) const {
    const ir::Op *max = maximum.sum->result()->users.front();
    if (max->kind != ir::OpKind::Max)
      max = max->result()->users.front();
    const ir::Value *next = max->result();
    const ir::Op *scale = nullptr, *summed = nullptr;
    for (const ir::Op *user : next->users) {
      if (user == &yield)
        continue;
      const bool isDifference = user->kind == ir::OpKind::Sub && user->operand(1) == next && user->operand(0) != next;
      const ir::Op *exponential = isDifference ? onlyUser(user->result()) : nullptr;
      const ir::Op *end = isExponential(exponential) ? onlyUser(exponential->result()) : nullptr;
      if (end && user->operand(0) == maximum.arg && end->kind == ir::OpKind::Mul && !scale &&
          (end->operand(0) == sum.arg || end->operand(1) == sum.arg))
        scale = exponential;
      else if (end == sum.sum && !summed && !dependsOn(user->operand(0), maximum.arg, next))
        summed = exponential;
      else
        return nullptr;
    }
    const bool elsewhere = std::any_of(maximum.arg->users.begin(), maximum.arg->users.end(), [&](const ir::Op *user) {
      return user != max && !(scale && user == scale->operand(0)->definingOp);
    });
    return scale && summed && scale->kind == summed->kind && !elsewhere ? scale : nullptr;
  }

  static bool dependsOn(const ir::Value *value, const ir::Value *one, const ir::Value *other) {
    if (value == one || value == other)
      return true;
    const ir::Op *op = value->definingOp;
    return op && std::any_of(op->operands().begin(), op->operands().end(),
                             [&](const ir::Value *operand) { return dependsOn(operand, one, other); });
  }

  void addBoth(const ir::Op &loop, const Recurrence &maximum, const Recurrence &sum, ir::OpKind exponential) {
    const auto before = parts.maximumOf.find(sum.initial);
    const bool goesOn = before != parts.maximumOf.end() && before->second == maximum.initial &&
                        parts.exponentialOf.at(sum.initial) == exponential && isOnlyUsedBy(sum.initial, &loop) &&
                        isOnlyUsedBy(maximum.initial, &loop);
    // -inf or the least number, as of kernels whose rows may begin with -inf: parts begin with the latter.
    const std::optional<double> initial = ir::constantOf(maximum.initial);
    const bool isLeast = initial && static_cast<float>(*initial) <= std::numeric_limits<float>::lowest();
    const bool begins = isZero(sum.initial) && isLeast;
    if (!goesOn && !begins)
      return;
    if (goesOn)
      continued.insert({sum.initial, maximum.initial});
    else
      parts.lowest.insert(maximum.arg);
    parts.carried.insert({sum.arg, sum.result, maximum.arg, maximum.result});
    parts.reductions.insert({sum.sum, maximum.sum});
    parts.maxima.insert(maximum.result);
    parts.maximumOf[sum.result] = maximum.result;
    parts.exponentialOf[sum.result] = exponential;
    results.insert(results.end(), {maximum.result, sum.result});
  }

  // ---- sums
  bool isLate(const plan::VarType &type) const {
    const plan::Layout &layout = type.layout;
    if (type.kind == plan::VarType::Row)
      return layout.kind == plan::Layout::Rows && layout.threads == layout.threadsPerRow &&
             layout.threads > placement.warpSize && type.elem == ElemType::F32 && lateSums.value_or(false);
    return type.kind == plan::VarType::Fragment && ((layout.kind == plan::Layout::WarpMma && lateSums.value_or(true)) ||
                                                    (layout.kind == plan::Layout::Mma && lateSums.value_or(false)));
  }

  /// Warpgroups that have shares of the columns of a row put their parts together through a scratch.
  static bool canShareRows(const plan::VarType &type) {
    return type.division != plan::Division::Cols || type.layout.kind == plan::Layout::Mma;
  }

  bool isLateReduction(const ir::Op &op, ir::ReduceKind kind) const {
    if (op.kind != ir::OpKind::Reduce || op.axis != 1 || op.reduce != kind)
      return false;
    const auto type = placement.types.find(op.operand(0));
    return type != placement.types.end() && isLate(type->second) && canShareRows(type->second) &&
           type->second.cols == op.operand(0)->type.cols;
  }

  void add(const ir::Op &loop, const Recurrence &found) {
    const bool goesOn = parts.carried.count(found.initial) != 0 && isOnlyUsedBy(found.initial, &loop);
    if (!goesOn && !isZero(found.initial))
      return;
    if (goesOn)
      continued.insert(found.initial);
    parts.carried.insert({found.arg, found.result});
    parts.reductions.insert(found.sum);
    results.push_back(found.result);
  }

  const Placement &placement;
  const std::optional<bool> lateSums;
  RowParts parts;
  std::vector<const ir::Value *> results;
  ir::ValueSet continued;
};

} // namespace

RowParts findPartialRowSums(const Nest &nest, const Placement &placement, const Schedule &schedule) {
  Finder finder(placement, schedule.lateSums);
  walkTile(nest, [&](const ir::Op &op, int) {
    if (op.kind == ir::OpKind::For)
      finder.loop(op);
  });
  return finder.run();
}

} // namespace tkc::planner
