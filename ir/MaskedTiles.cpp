// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/MaskedTiles.h"

#include "ir/Effects.h"
#include "support/Tensor.h"

#include <cmath>
#include <map>
#include <unordered_map>

namespace tkc::ir {
namespace {

using TermId = unsigned;

/// A number that is the same for every element, or an unknown; equal terms have equal ids.
struct Term {
  std::optional<double> number;
  bool isFinite = false;
};

class Evaluation {
public:
  Evaluation(const Op &loop, const Op &select) : loop(loop), select(select) {}

  /// False: something is stored, or a carried value changes.
  bool leavesCarriedAlone(bool fromStart) {
    const Block &body = loop.body();
    std::vector<TermId> carried;
    for (size_t i = 1; i < body.args.size(); ++i) {
      std::optional<double> start = constantOf(loop.operand(i + 1));
      carried.push_back(fromStart && start ? number(*start) : unknown(true));
      terms[body.args[i].get()] = carried.back();
    }
    for (auto &op : body.ops) {
      if (op->kind == OpKind::Yield)
        break;
      if (writesMemory(*op) && !addsZero(*op))
        return false;
      for (auto &result : op->results)
        terms[result.get()] = op->bodies.empty() ? evaluate(*op) : unknown(false);
    }
    for (size_t i = 0; i < carried.size(); ++i)
      if (of(body.terminator()->operand(i)) != carried[i])
        return false;
    return true;
  }

private:
  const Op &loop;
  const Op &select;
  std::vector<Term> table;
  std::map<double, TermId> numbers;
  std::map<std::vector<uint64_t>, TermId> applications;
  std::unordered_map<const Value *, TermId> terms;

  TermId add(Term term) {
    table.push_back(term);
    return static_cast<TermId>(table.size() - 1);
  }
  TermId number(double value) {
    if (std::isnan(value))
      return unknown(false);
    auto [entry, isNew] = numbers.try_emplace(value == 0 ? 0.0 : value);
    if (isNew)
      entry->second = add({entry->first, std::isfinite(value)});
    return entry->second;
  }
  TermId unknown(bool isFinite) { return add({std::nullopt, isFinite}); }

  TermId of(const Value *value) {
    auto found = terms.find(value);
    if (found != terms.end())
      return found->second;
    std::optional<double> constant = constantOf(value); // from outside of the loop
    return terms[value] = constant ? number(*constant) : unknown(true);
  }

  bool is(TermId term, double value) const { return table[term].number == value; }
  bool isFinite(TermId term) const { return table[term].isFinite; }

  bool addsZero(const Op &op) {
    return op.kind == OpKind::Atomic && op.atomic == AtomicKind::Add && is(of(op.operands().back()), 0);
  }

  /// An operation of which nothing more is known than that it gives the same for the same.
  TermId apply(const Op &op, bool isFinite) {
    std::vector<uint64_t> key{static_cast<uint64_t>(op.kind), static_cast<uint64_t>(op.axis),
                              static_cast<uint64_t>(op.reduce), static_cast<uint64_t>(op.result()->type.elem)};
    for (const Value *operand : op.operands())
      key.push_back(of(operand));
    auto [entry, isNew] = applications.try_emplace(std::move(key));
    if (isNew)
      entry->second = unknown(isFinite);
    return entry->second;
  }

  bool areOperandsFinite(const Op &op) {
    for (const Value *operand : op.operands())
      if (!isFinite(of(operand)))
        return false;
    return true;
  }

  TermId evaluate(const Op &op) {
    if (&op == &select)
      return of(op.operand(2));
    if (isCompare(op.kind))
      return compare(op);
    if (isElementwiseUnary(op.kind))
      return unary(op);
    if (isElementwiseBinary(op.kind))
      return binary(op, of(op.operand(0)), of(op.operand(1)));
    switch (op.kind) {
    case OpKind::Const:
      return number(op.constant);
    case OpKind::Cast:
      if (std::optional<double> value = table[of(op.operand(0))].number)
        return number(roundTo(op.result()->type.elem, *value));
      return apply(op, areOperandsFinite(op));
    case OpKind::Full:
    case OpKind::ToScalar:
    case OpKind::AsCol:
    case OpKind::AsRow:
    case OpKind::Transpose:
      return table[of(op.operand(0))].number ? of(op.operand(0)) : apply(op, areOperandsFinite(op));
    case OpKind::Select:
      return chosen(op);
    case OpKind::Reduce:
    case OpKind::Cumsum:
      return reduced(op);
    case OpKind::Dot:
      return product(op);
    case OpKind::DotScaled:
      return apply(op, areOperandsFinite(op));
    case OpKind::ExternCall:
      return unknown(false);
    default: // loads, indices, …
      return unknown(true);
    }
  }

  TermId unary(const Op &op) {
    TermId x = of(op.operand(0));
    if (op.kind == OpKind::Exp || op.kind == OpKind::Exp2) {
      if (is(x, -INFINITY))
        return number(0);
      if (is(x, 0))
        return number(1);
    }
    if (std::optional<double> value = table[x].number) {
      if (op.kind == OpKind::Neg)
        return number(-*value);
      if (op.kind == OpKind::Abs)
        return number(std::abs(*value));
      if (op.kind == OpKind::Not && op.result()->type.elem == ElemType::Bool)
        return number(*value == 0);
    }
    bool mayLeaveFinite = op.kind == OpKind::Log || op.kind == OpKind::Log2 || op.kind == OpKind::Rcp ||
                          op.kind == OpKind::Rsqrt || op.kind == OpKind::Sqrt;
    return apply(op, isFinite(x) && !mayLeaveFinite);
  }

  TermId binary(const Op &op, TermId x, TermId y) {
    bool bothFinite = isFinite(x) && isFinite(y);
    std::optional<double> a = table[x].number, b = table[y].number;
    switch (op.kind) {
    case OpKind::Add:
      return sum(op, x, y);
    case OpKind::Sub:
      if (is(y, 0) || (is(x, -INFINITY) && isFinite(y)))
        return x;
      return x == y && isFinite(x) ? number(0) : apply(op, bothFinite);
    case OpKind::Mul:
      if (is(x, 1) || is(y, 1))
        return is(x, 1) ? y : x;
      if ((is(x, 0) && isFinite(y)) || (is(y, 0) && isFinite(x)))
        return number(0);
      return a && b ? number(roundTo(op.result()->type.elem, *a * *b)) : apply(op, bothFinite);
    case OpKind::Div:
      return is(y, 1) ? x : apply(op, false);
    case OpKind::Max:
    case OpKind::Min: {
      double none = op.kind == OpKind::Max ? -INFINITY : INFINITY;
      if (x == y || is(y, none))
        return x;
      if (is(x, none))
        return y;
      return a && b ? number(op.kind == OpKind::Max ? std::fmax(*a, *b) : std::fmin(*a, *b)) : apply(op, bothFinite);
    }
    case OpKind::And:
    case OpKind::Or:
      if (op.result()->type.elem == ElemType::Bool) {
        double decisive = op.kind == OpKind::And ? 0 : 1;
        if (is(x, decisive) || is(y, decisive))
          return number(decisive);
        if (a || x == y)
          return y;
        if (b)
          return x;
      }
      return apply(op, bothFinite);
    default: // integers'
      return apply(op, bothFinite);
    }
  }

  TermId sum(const Op &op, TermId x, TermId y) {
    if (is(x, 0) || is(y, 0))
      return is(x, 0) ? y : x;
    if ((is(x, -INFINITY) && isFinite(y)) || (is(y, -INFINITY) && isFinite(x)))
      return number(-INFINITY);
    return apply(op, isFinite(x) && isFinite(y));
  }

  TermId compare(const Op &op) {
    TermId x = of(op.operand(0)), y = of(op.operand(1));
    std::optional<double> a = table[x].number, b = table[y].number;
    // Two numbers that stand in the unknowns' order to the infinities.
    if (!a && isFinite(x) && b && std::isinf(*b))
      a = 0;
    if (!b && isFinite(y) && a && std::isinf(*a))
      b = 0;
    if (!a || !b)
      return apply(op, true);
    if (op.kind == OpKind::Eq)
      return number(*a == *b);
    if (op.kind == OpKind::Ne)
      return number(*a != *b);
    if (op.kind == OpKind::Lt)
      return number(*a < *b);
    if (op.kind == OpKind::Le)
      return number(*a <= *b);
    return number(op.kind == OpKind::Gt ? *a > *b : *a >= *b);
  }

  TermId chosen(const Op &op) {
    TermId condition = of(op.operand(0)), x = of(op.operand(1)), y = of(op.operand(2));
    if (is(condition, 1) || x == y)
      return x;
    return is(condition, 0) ? y : apply(op, isFinite(x) && isFinite(y));
  }

  TermId reduced(const Op &op) {
    TermId x = of(op.operand(0));
    bool isSum = op.kind == OpKind::Cumsum || op.reduce == ReduceKind::Sum;
    bool isExtreme = !isSum && (op.reduce == ReduceKind::Max || op.reduce == ReduceKind::Min);
    bool isProduct = !isSum && op.reduce == ReduceKind::Prod;
    if ((isSum && is(x, 0)) || (isExtreme && table[x].number) || (isProduct && (is(x, 0) || is(x, 1))))
      return x;
    return apply(op, isFinite(x));
  }

  TermId product(const Op &op) {
    TermId a = of(op.operand(0)), b = of(op.operand(1));
    TermId product =
        (is(a, 0) && isFinite(b)) || (is(b, 0) && isFinite(a)) ? number(0) : apply(op, areOperandsFinite(op));
    if (op.operands().size() == 2 || !is(product, 0))
      return product;
    return of(op.operand(2));
  }
};

} // namespace

bool canSkipWhereMasked(const Op &loop, const Op &select, bool afterSomethingSeen) {
  size_t startsAtNothing = 0;
  for (size_t i = 2; i < loop.operands().size(); ++i)
    startsAtNothing += constantOf(loop.operand(i)) == -INFINITY;
  // With two of them, a row could have seen something of one and nothing of the other.
  if (startsAtNothing > 1)
    return false;
  return Evaluation(loop, select).leavesCarriedAlone(false) &&
         (startsAtNothing == 0 || afterSomethingSeen || Evaluation(loop, select).leavesCarriedAlone(true));
}

} // namespace tkc::ir
