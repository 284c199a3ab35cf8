// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Let d be how far a held maximum is below the true one, row by row (or column by column). A value either does not
// depend on d, or is true · base^(k · d), or true + k · d: exponentials of x − m have k = 1, m itself has k = −1. The
// pass follows k through the loop, for the d before and after an iteration, and through what comes after it. If it is
// known everywhere, the same again at the loop's end, and 0 in all that is stored, then d is free to choose.
#include "ir/passes/DelayRescaling.h"

#include "ir/Effects.h"
#include "ir/passes/Passes.h"
#include "support/Tensor.h"

#include <cmath>
#include <map>

namespace tkc::ir {
namespace {

/// How a value depends on d: before the iteration, after it. All zero: not at all.
struct Dependence {
  enum Kind : uint8_t { None, Scaled, Shifted, Unknown } kind = None;
  int before = 0, after = 0;
  friend bool operator==(const Dependence &, const Dependence &) = default;
};

constexpr Dependence unknown{Dependence::Unknown};

Dependence dependence(Dependence::Kind kind, int before, int after) {
  return before == 0 && after == 0 ? Dependence{} : Dependence{kind, before, after};
}

/// One online maximum of a loop: `maximum` = max(`carried`, `extreme`), which is the next iteration's `carried`.
struct Candidate {
  Op *loop;
  Op *maximum;
  Value *carried;
  Op *extreme;
  size_t position; ///< among what is carried
};

class Analysis {
public:
  Analysis(const Function &function, const Candidate &candidate, int threshold)
      : function(function), candidate(candidate), threshold(threshold) {}

  bool isFree() {
    guessCarried();
    visit(function.body);
    return !failed && base;
  }
  /// Of the exponentials.
  bool isNatural() const { return base == OpKind::Exp; }

private:
  const Function &function;
  const Candidate &candidate;
  const int threshold;
  ir::ValueMap<Dependence> dependences;
  std::optional<OpKind> base; ///< Exp or Exp2
  bool failed = false;

  Dependence of(const Value *value) const {
    const auto found = dependences.find(value);
    return found == dependences.end() ? Dependence{} : found->second;
  }
  bool isFree(const Value *value) const { return of(value).kind == Dependence::None; }
  bool areFree(const Op &op) const {
    for (const Value *operand : op.operands())
      if (!isFree(operand))
        return false;
    return true;
  }

  /// Carried values that are multiplied by exp(m − new m) are scaled like the exponentials; all others are taken to be
  /// free, which the loop's end checks.
  void guessCarried() {
    const Block &body = candidate.loop->body();
    dependences[candidate.carried] = dependence(Dependence::Shifted, -1, 0);
    for (const auto &op : body.ops)
      evaluate(*op);
    failed = false;
    std::vector<const Value *> scaled;
    for (size_t i = 1; i < body.args.size(); ++i)
      for (const Op *user : body.args[i]->users)
        if (user->kind == OpKind::Mul && body.args[i].get() != candidate.carried)
          for (const Value *factor : user->operands())
            if (of(factor) == dependence(Dependence::Scaled, -1, 1))
              scaled.push_back(body.args[i].get());
    dependences = {{candidate.carried, dependence(Dependence::Shifted, -1, 0)}};
    for (const Value *value : scaled)
      dependences[value] = dependence(Dependence::Scaled, 1, 0);
  }

  void visit(const Block &block) {
    for (const auto &op : block.ops) {
      if (failed)
        return;
      if (op.get() == candidate.loop) {
        for (const Value *operand : op->operands()) // d is 0 before the first iteration
          failed |= !isFree(operand);
        visit(op->body());
        leave(*op);
      } else if (!op->bodies.empty()) {
        failed |= !areFree(*op);
        for (const auto &body : op->bodies)
          visit(*body);
      } else if (op->kind == OpKind::Yield && op->parent->parent == candidate.loop) {
        continue;
      } else {
        evaluate(*op);
      }
    }
  }

  /// The dependence at the end of an iteration is that at its beginning, and that of the loop's result.
  void leave(const Op &loop) {
    const Block &body = loop.body();
    const Op *yield = body.terminator();
    for (size_t i = 0; i < loop.results.size(); ++i) {
      const Dependence begins = of(body.args[i + 1].get()), ends = of(yield->operand(i));
      failed |= ends != dependence(begins.kind, 0, begins.before);
      dependences[loop.result(i)] = begins;
    }
  }

  void evaluate(const Op &op) {
    if (op.results.size() != 1) {
      failed |= !areFree(op);
      return;
    }
    const Dependence result = resultOf(op);
    failed |= result.kind == Dependence::Unknown;
    if (result.kind != Dependence::None)
      dependences[op.result()] = result;
  }

  Dependence resultOf(const Op &op) {
    if (&op == candidate.maximum)
      return dependence(Dependence::Shifted, 0, -1);
    if (areFree(op))
      return {};
    switch (op.kind) {
    case OpKind::Add:
      return sum(op, 1);
    case OpKind::Sub:
      return sum(op, -1);
    case OpKind::Mul:
      return product(op, 1);
    case OpKind::Div:
      return product(op, -1);
    case OpKind::Rcp:
      return reversed(of(op.operand(0)));
    case OpKind::Neg:
      return negated(of(op.operand(0)));
    case OpKind::Exp:
    case OpKind::Exp2:
      return exponential(op);
    case OpKind::Log:
    case OpKind::Log2:
      return logarithm(op);
    case OpKind::Cast:
      return narrowed(op);
    case OpKind::Select:
      return chosen(op);
    case OpKind::Reduce:
      return reduced(op);
    case OpKind::Dot:
      return contracted(op);
    default:
      return isCompare(op.kind) ? compared(op) : unknown;
    }
  }

  Dependence sum(const Op &op, int sign) const {
    const Dependence x = of(op.operand(0)), y = of(op.operand(1));
    if (x.kind == Dependence::Scaled || y.kind == Dependence::Scaled)
      return x == y ? x : unknown;
    if (x.kind == Dependence::Unknown || y.kind == Dependence::Unknown)
      return unknown;
    return dependence(Dependence::Shifted, x.before + sign * y.before, x.after + sign * y.after);
  }

  Dependence product(const Op &op, int sign) const {
    const Dependence x = of(op.operand(0)), y = of(op.operand(1));
    const auto scales = [](const Dependence &it) {
      return it.kind == Dependence::None || it.kind == Dependence::Scaled;
    };
    if (!scales(x) || !scales(y))
      return unknown;
    return dependence(Dependence::Scaled, x.before + sign * y.before, x.after + sign * y.after);
  }

  static Dependence reversed(const Dependence &x) {
    return x.kind == Dependence::Scaled ? dependence(x.kind, -x.before, -x.after) : unknown;
  }
  /// A number less than zero scales as well; what is added changes its sign.
  static Dependence negated(const Dependence &x) {
    return x.kind == Dependence::Shifted ? dependence(x.kind, -x.before, -x.after) : x;
  }

  bool hasBase(OpKind kind) {
    if (!base)
      base = kind;
    return base == kind;
  }

  /// Of x − m, where the maximum is that of x, or of the old m: so that it is at most 2^threshold.
  Dependence exponential(const Op &op) {
    const Dependence x = of(op.operand(0));
    const Op *difference = definedBy(op.operand(0), OpKind::Sub);
    const bool isBounded = difference && (difference->operand(0) == candidate.extreme->operand(0) ||
                                          difference->operand(0) == candidate.carried);
    if (x.kind != Dependence::Shifted || !isBounded || !hasBase(op.kind))
      return unknown;
    return dependence(Dependence::Scaled, x.before, x.after);
  }

  Dependence logarithm(const Op &op) {
    const Dependence x = of(op.operand(0));
    if (x.kind != Dependence::Scaled || !hasBase(op.kind == OpKind::Log ? OpKind::Exp : OpKind::Exp2))
      return unknown;
    return dependence(Dependence::Shifted, x.before, x.after);
  }

  /// A relative error stays what it is where the larger numbers fit the type too: exponentials have a bound.
  Dependence narrowed(const Op &op) const {
    const Dependence x = of(op.operand(0));
    const ElemType to = op.result()->type.elem;
    if (x.kind != Dependence::Scaled || !isFloat(to))
      return unknown;
    const Op *made = op.operand(0)->definingOp;
    const bool isExponential = made && (made->kind == OpKind::Exp2 || made->kind == OpKind::Exp);
    const bool hasRange = roundTo(to, 0x1p100) == 0x1p100;
    const bool fits = isExponential && std::ldexp(1.0, threshold) <= std::fabs(roundTo(to, 0x1p100));
    return hasRange || fits ? x : unknown;
  }

  /// Zeros stand for "nothing seen yet", which a held maximum is as well: −inf is not held.
  Dependence chosen(const Op &op) const {
    if (!isFree(op.operand(0)))
      return unknown;
    const Value *x = op.operand(1), *y = op.operand(2);
    if (of(x) == of(y))
      return of(x);
    const bool isGuard = isConstant(x, 0) || isConstant(y, 0);
    if (!isGuard)
      return unknown;
    const Value *chosen = isConstant(x, 0) ? y : x;
    const Op *condition = op.operand(0)->definingOp;
    const bool isScaled = of(chosen).kind == Dependence::Scaled;
    const bool asksForNothing =
        condition && condition->operands().size() == 2 &&
        ((condition->kind == OpKind::Eq && chosen == y) || (condition->kind == OpKind::Ne && chosen == x)) &&
        condition->operand(0) == chosen && isConstant(condition->operand(1), -INFINITY);
    return isScaled || asksForNothing ? of(chosen) : unknown;
  }

  /// With zero what is scaled, with −inf what is shifted.
  Dependence compared(const Op &op) const {
    const Dependence x = of(op.operand(0)), y = of(op.operand(1));
    if (y.kind != Dependence::None)
      return unknown;
    const bool againstNothing = isConstant(op.operand(1), -INFINITY) || isConstant(op.operand(1), INFINITY);
    const bool same = (x.kind == Dependence::Scaled && isConstant(op.operand(1), 0)) ||
                      (x.kind == Dependence::Shifted && againstNothing);
    return same ? Dependence{} : unknown;
  }

  Dependence reduced(const Op &op) const {
    const Dependence x = of(op.operand(0));
    const bool follows = op.reduce == ReduceKind::Sum || op.reduce == ReduceKind::Max || op.reduce == ReduceKind::Min;
    return x.kind == Dependence::Scaled && follows && op.axis == candidate.extreme->axis ? x : unknown;
  }

  /// Rows of the left operand give rows of the result, columns of the right one its columns.
  Dependence contracted(const Op &op) const {
    const bool byRows = candidate.extreme->axis == 1;
    const Value *scaled = op.operand(byRows ? 0 : 1), *other = op.operand(byRows ? 1 : 0);
    const Dependence x = of(scaled);
    if (!isFree(other) || (x.kind != Dependence::Scaled && x.kind != Dependence::None))
      return unknown;
    return op.operands().size() == 2 || of(op.operand(2)) == x ? x : unknown;
  }
};

class Delay {
public:
  Delay(Function &function, int threshold) : function(function), threshold(threshold) {}

  int run() {
    std::vector<Candidate> candidates;
    walk(function.body, [&](Op &op) {
      if (op.kind == OpKind::For)
        find(op, candidates);
    });
    int changed = 0;
    for (const Candidate &candidate : candidates) {
      Analysis analysis(function, candidate, threshold);
      if (!analysis.isFree())
        continue;
      hold(candidate, analysis.isNatural() ? threshold * std::log(2.0) : threshold);
      ++changed;
    }
    return changed;
  }

private:
  Function &function;
  const int threshold;

  static void find(Op &loop, std::vector<Candidate> &candidates) {
    const Block &body = loop.body();
    const Op *yield = body.terminator();
    for (size_t i = 1; yield && i < body.args.size(); ++i) {
      Value *carried = body.args[i].get();
      Op *maximum = definedBy(yield->operand(i - 1), OpKind::Max);
      if (!maximum || maximum->parent != &body || carried->type.elem != ElemType::F32 || !carried->type.isTile())
        continue;
      const size_t side = maximum->operand(0) == carried ? 0 : 1;
      Op *extreme = definedBy(maximum->operand(1 - side), OpKind::Reduce);
      if (maximum->operand(side) == carried && extreme && extreme->reduce == ReduceKind::Max)
        candidates.push_back({&loop, maximum, carried, extreme, i - 1});
    }
  }

  /// Where nothing was seen before, the difference is infinite, or no number where nothing is seen now either.
  void hold(const Candidate &candidate, double most) {
    Op &maximum = *candidate.maximum;
    Builder builder(function, maximum.parent);
    builder.setInsertionPointBefore(&**std::next(maximum.position));
    builder.setLoc(maximum.loc);
    const std::vector<Op *> users = maximum.result()->users;
    Value *rise = builder.binary(OpKind::Sub, maximum.result(), candidate.carried);
    Value *isSmall = builder.binary(OpKind::Le, rise, builder.constant(ElemType::F32, roundTo(ElemType::F32, most)));
    Value *held = builder.select(isSmall, candidate.carried, maximum.result());
    rise->name = "rise";
    held->name = maximum.result()->name.empty() ? "held" : maximum.result()->name + "_held";
    for (Op *user : users)
      for (size_t i = 0; i < user->operands().size(); ++i)
        if (user->operand(i) == maximum.result())
          user->setOperand(i, held);
  }
};

/// What the test of the pass runs.
constexpr int usualThreshold = 8;

} // namespace

int delayRescaling(Function &function, int threshold) { return Delay(function, threshold).run(); }

void delayRescaling(Function &function) { delayRescaling(function, usualThreshold); }

} // namespace tkc::ir
