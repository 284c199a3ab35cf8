// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/analysis/OnlineSums.h"

#include "ir/Effects.h"
#include "ir/Products.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tkc::planner {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

bool isExponential(OpKind kind) { return kind == OpKind::Exp || kind == OpKind::Exp2; }

/// The operation that makes a value, if it is of the kind; else null.
const Op *madeBy(const Value *value, OpKind kind) {
  const Op *op = value->definingOp;
  return op && op->kind == kind ? op : nullptr;
}

bool isNothing(const Value *value) {
  const std::optional<double> constant = ir::constantOf(value);
  return constant && *constant == -std::numeric_limits<double>::infinity();
}

/// One loop, whose carried values are looked at together.
class LoopSums {
public:
  explicit LoopSums(const Op &loop) : loop(loop), yield(loop.body().ops.back().get()) {
    for (size_t i = 1; i < loop.body().args.size(); ++i)
      carried.insert(loop.body().args[i].get());
  }

  /// The position of the maximum among what is carried; the first of several.
  std::optional<size_t> maximum() {
    for (size_t i = 0; i < yield->operands().size(); ++i)
      if (isMaximum(i))
        return i;
    return std::nullopt;
  }

  /// Whether all else that is carried is a sum by the maximum at `at`, and the loop makes nothing else of these.
  bool hasOnlySums(size_t at) {
    oldest = argument(at);
    next = yield->operand(at);
    if (next->type.cols != 1)
      return false; // a number for each row, whose columns are added up
    const bool isPlain = std::none_of(loop.body().ops.begin(), loop.body().ops.end(), [&](const auto &op) {
      return !op->bodies.empty() || (writesMemory(*op) && dependsOnCarried(*op));
    });
    for (size_t i = 0; isPlain && i < yield->operands().size(); ++i)
      if (i != at && !isSum(argument(i), yield->operand(i)))
        return false;
    return isPlain;
  }

  /// Of the exponentials: all are of one kind.
  std::optional<OpKind> exponential;
  bool isMixed = false;
  /// Whether every difference is from 0 where the maximum is -inf.
  bool takesNothing = true;

private:
  const Value *argument(size_t i) const { return loop.body().args[i + 1].get(); }

  static bool writesMemory(const Op &op) { return op.kind == OpKind::Store || op.kind == OpKind::Atomic; }

  bool dependsOnCarried(const Op &op) const {
    return std::any_of(op.operands().begin(), op.operands().end(),
                       [&](const Value *operand) { return dependsOnCarried(operand); });
  }

  bool dependsOnCarried(const Value *value) const {
    if (carried.count(value) != 0)
      return true;
    const Op *op = value->definingOp;
    const bool isInside = op && std::any_of(loop.body().ops.begin(), loop.body().ops.end(),
                                            [&](const auto &inner) { return inner.get() == op; });
    return isInside && dependsOnCarried(*op);
  }

  bool isMaximum(size_t i) const {
    const Op *max = madeBy(yield->operand(i), OpKind::Max);
    if (!max)
      return false;
    for (const size_t side : {0, 1})
      if (max->operand(side) == argument(i) && !dependsOnCarried(max->operand(1 - side)))
        return true;
    return false;
  }

  /// The new maximum, or 0 where that is -inf.
  bool isTop(const Value *value) {
    if (value == next) {
      takesNothing = false;
      return true;
    }
    const Op *select = madeBy(value, OpKind::Select);
    const Op *test = select ? madeBy(select->operand(0), OpKind::Eq) : nullptr;
    if (!test || !ir::isConstant(select->operand(1), 0) || select->operand(2) != next)
      return false;
    return (test->operand(0) == next && isNothing(test->operand(1))) ||
           (test->operand(1) == next && isNothing(test->operand(0)));
  }

  /// exp(x - maximum); the x, or null.
  const Value *exponent(const Value *value) {
    const Op *op = value->definingOp;
    const Op *difference = op && isExponential(op->kind) ? madeBy(op->operand(0), OpKind::Sub) : nullptr;
    if (!difference || !isTop(difference->operand(1)))
      return nullptr;
    isMixed |= exponential.value_or(op->kind) != op->kind;
    exponential = op->kind;
    return difference->operand(0);
  }

  /// Linear in exp(-maximum), and otherwise independent of what is carried.
  bool isWeight(const Value *value) {
    if (const Value *x = exponent(value))
      return !dependsOnCarried(x);
    const Op *op = value->definingOp;
    if (!op)
      return false;
    if (op->kind == OpKind::Cast)
      return isFloat(value->type.elem) && isWeight(op->operand(0));
    if (op->kind == OpKind::Reduce)
      return op->reduce == ir::ReduceKind::Sum && op->axis == 1 && isWeight(op->operand(0));
    if (op->kind == OpKind::Mul)
      return (isWeight(op->operand(0)) && !dependsOnCarried(op->operand(1))) ||
             (isWeight(op->operand(1)) && !dependsOnCarried(op->operand(0)));
    return ir::isProduct(*op) && !ir::isScaled(*op) && !ir::addendOf(*op) && multipliesWeight(*op);
  }

  bool multipliesWeight(const Op &product) {
    return isWeight(ir::factorOf(product, 0)) && !dependsOnCarried(ir::factorOf(product, 1));
  }

  /// arg · exp(maximum before - maximum)
  bool isScaled(const Value *value, const Value *arg) {
    const Op *mul = madeBy(value, OpKind::Mul);
    for (const size_t side : {0, 1})
      if (mul && mul->operand(side) == arg && exponent(mul->operand(1 - side)) == oldest)
        return true;
    return false;
  }

  bool isSum(const Value *arg, const Value *value) {
    const Op *op = value->definingOp;
    if (!op)
      return false;
    if (ir::isProduct(*op) && !ir::isScaled(*op) && ir::addendOf(*op))
      return isScaled(ir::addendOf(*op), arg) && multipliesWeight(*op);
    for (const size_t side : {0, 1})
      if (op->kind == OpKind::Add && isScaled(op->operand(side), arg) && isWeight(op->operand(1 - side)))
        return true;
    return false;
  }

  const Op &loop;
  const Op *yield;
  ir::ValueSet carried;
  const Value *oldest = nullptr, *next = nullptr; ///< of the maximum: before and after the iteration
};

bool isLoopOfProducts(const Op &op) {
  return op.kind == OpKind::For && std::any_of(op.body().ops.begin(), op.body().ops.end(),
                                               [](const auto &inner) { return ir::isProduct(*inner); });
}

class Finder {
public:
  std::optional<OnlineSums> run(const Nest &nest, std::string &why) {
    for (const Op *op : nest.tileOps)
      if (isLoopOfProducts(*op) && !add(*op, why))
        return std::nullopt;
    return found;
  }

private:
  /// False: it is not as the loops before it.
  bool add(const Op &op, std::string &why) {
    const Op *last = op.body().ops.back().get();
    if (last->kind != OpKind::Yield)
      return true;
    LoopSums loop(op);
    const std::optional<size_t> at = loop.maximum();
    if (!at && !found)
      return true;
    if (!at || !loop.hasOnlySums(*at) || !loop.exponential || loop.isMixed)
      return why = "the loop makes more of a maximum than sums of exponentials that are scaled to it", false;
    OnlineSums sums{*loop.exponential, last->operands().size() - 1, loop.takesNothing};
    if (found && (sums.exponential != found->exponential || sums.sums != found->sums))
      return why = "loops that follow each other make different sums", false;
    if (!begins(op, *at, sums.mayBeNothing))
      return why = "sums that go by a maximum begin with 0, and the maximum with a finite number, or with -inf where "
                   "differences are from 0 as long as it is that",
             false;
    sums.mayBeNothing &= !found || found->mayBeNothing;
    found = sums;
    maximum = op.result(*at);
    results.clear();
    for (size_t i = 0; i < last->operands().size(); ++i)
      results.insert(op.result(i));
    return true;
  }

  bool begins(const Op &op, size_t at, bool takesNothing) const {
    for (size_t i = 0; i < op.body().args.size() - 1; ++i) {
      const Value *initial = op.operand(i + 2);
      const std::optional<double> constant = ir::constantOf(initial);
      const bool isFirst = i != at ? constant == 0.0 : constant && (std::isfinite(*constant) || takesNothing);
      const bool goesOn = i != at ? results.count(initial) != 0 && initial != maximum : maximum && initial == maximum;
      if (found ? !goesOn : !isFirst)
        return false;
    }
    return true;
  }

  std::optional<OnlineSums> found;
  const Value *maximum = nullptr; ///< that the loop before leaves
  ir::ValueSet results;           ///< of that loop
};

} // namespace

std::optional<OnlineSums> findOnlineSums(const Nest &nest, std::string &why) { return Finder().run(nest, why); }

} // namespace tkc::planner
