// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes a positive scale out of what only compares, so that what is left of it meets a sum and becomes one multiply-add
// with it (softmax: the maximum of raw scores, then exp2(x · c − top)):
//   rowmax (mul x, c)            ⇒ mul (rowmax x), c
//   select m, (mul x, c), ±inf   ⇒ mul (select m, x, ±inf), c
// Exactly the same numbers, as rounding keeps order: max of c · x is c · max of x. What still reads the product gets it
// right before, where x and it need no registers at once.
#include "ir/Effects.h"
#include "ir/passes/Passes.h"

#include <cmath>

namespace tkc::ir {
namespace {

class Sinker {
public:
  explicit Sinker(Function &function) : function(function) {}

  void run(Block &block) {
    for (auto next = block.ops.begin(); next != block.ops.end();) {
      Op &op = **next++;
      for (auto &body : op.bodies)
        run(*body);
      if (Value *same = withoutScale(op)) {
        same->name = op.result()->name;
        replaceAllUses(op.result(), same);
        erase(&op);
      }
    }
  }

private:
  Value *withoutScale(Op &op) {
    if (op.kind == OpKind::Select)
      return maskedFirst(op);
    if (op.kind == OpKind::Reduce && (op.reduce == ReduceKind::Max || op.reduce == ReduceKind::Min))
      return comparedFirst(op);
    return nullptr;
  }

  Value *comparedFirst(Op &op) {
    Op *scaling = scalingOf(op.operand(0));
    if (!scaling)
      return nullptr;
    Builder builder = before(op);
    Value *compared = builder.reduce(op.reduce, op.axis, scaling->operand(0));
    Value *scaled = builder.binary(OpKind::Mul, compared, scaling->operand(1));
    delay(*scaling, op);
    return scaled;
  }

  Value *maskedFirst(Op &op) {
    for (size_t side : {1, 2}) {
      Op *scaling = scalingOf(op.operand(side));
      Value *other = op.operand(3 - side);
      std::optional<double> fill = constantOf(other);
      if (!scaling || !fill || !std::isinf(*fill))
        continue;
      Builder builder = before(op);
      Value *x = scaling->operand(0), *condition = op.operand(0);
      Value *masked = side == 1 ? builder.select(condition, x, other) : builder.select(condition, other, x);
      masked->name = "raw";
      return builder.binary(OpKind::Mul, masked, scaling->operand(1));
    }
    return nullptr;
  }

  /// The op that makes `value` a tile times a positive scalar of its type.
  Op *scalingOf(Value *value) const {
    Op *op = definedBy(value, OpKind::Mul);
    if (!op || !value->type.isTile())
      return nullptr;
    Value *x = op->operand(0), *scale = op->operand(1);
    return x->type == value->type && scale->type.isScalar() && scale->type.elem == value->type.elem &&
                   isFloat(scale->type.elem) && isPositive(scale)
               ? op
               : nullptr;
  }

  /// Positive as rounded: a product of numbers below one may round to zero.
  bool isPositive(const Value *value) const {
    if (std::optional<double> number = constantOf(value))
      return *number > 0 && std::isfinite(*number);
    const Op *op = value->definingOp;
    if (op && op->kind == OpKind::Param)
      return function.findParam(op->name)->above.has_value();
    if (!op || op->kind != OpKind::Mul)
      return false;
    std::optional<double> factor = constantOf(op->operand(1));
    return factor && *factor >= 1 && std::isfinite(*factor) && isPositive(op->operand(0));
  }

  /// Moves the scaling down to its first use after `from`.
  static void delay(Op &scaling, Op &from) {
    if (scaling.parent != from.parent)
      return;
    auto uses = [&](const Op &op) {
      for (const Value *operand : op.operands())
        if (operand == scaling.result())
          return true;
      return !op.bodies.empty();
    };
    // Whoever reads it before `from` keeps it where it is.
    for (auto at = std::next(scaling.position); &**at != &from; ++at)
      if (uses(**at))
        return;
    for (auto at = std::next(from.position); at != from.parent->ops.end(); ++at)
      if (uses(**at))
        return moveBefore(&scaling, &**at);
  }

  Builder before(Op &op) {
    Builder builder(function, op.parent);
    builder.setInsertionPointBefore(&op);
    builder.setLoc(op.loc);
    return builder;
  }

  Function &function;
};

} // namespace

void sinkScales(Function &function) { Sinker(function).run(function.body); }

} // namespace tkc::ir
