// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches that hold products, as loops that run once or not at all:
//   %r = if %c { … yield %x } else { yield %y }
// ⇒ %n = cast %c : i32
//   %r = for %once in zero..%n carry(%a = %y) { … yield %x }
// What a product reads is loaded by others than those who multiply. Plans have that for loops, whose trips each role
// counts for itself; a branch is no more than that. Where both sides compute, one loop follows the other.
#include "ir/Effects.h"
#include "ir/Products.h"
#include "ir/passes/Passes.h"

#include <algorithm>

namespace tkc::ir {
namespace {

class Looper {
public:
  explicit Looper(Function &function) : function(function) {}

  void run(Block &block) {
    for (auto next = block.ops.begin(); next != block.ops.end();) {
      Op &op = **next++;
      for (auto &body : op.bodies)
        run(*body);
      if (op.kind == OpKind::If && holdsProduct(op) && std::all_of(op.results.begin(), op.results.end(), canBeCarried))
        replace(op);
    }
  }

private:
  static bool holdsProduct(const Op &branch) {
    return std::any_of(branch.bodies.begin(), branch.bodies.end(), [](const std::unique_ptr<Block> &body) {
      bool found = false;
      walk(*body, [&](const Op &op) { found |= isProduct(op); });
      return found;
    });
  }

  static bool canBeCarried(const std::unique_ptr<Value> &result) {
    return result->type.kind == Type::Tile || result->type.kind == Type::Scalar;
  }

  static size_t work(const Block &body) { return body.ops.size() - (body.terminator() ? 1 : 0); }

  /// What result `i` is where neither side computes it: what one of them takes from outside; else anything, best what
  /// both sides go on from, as then it stays where it is.
  Value *initialOf(const Op &branch, size_t i, Builder &builder) const {
    for (size_t side : {1, 0}) {
      Value *yielded = branch.body(side).terminator()->operand(i);
      if (!isDefinedIn(yielded, branch.body(side)))
        return yielded;
    }
    if (Value *source = sourceOf(branch, i))
      return source;
    const Type &type = branch.result(i)->type;
    Value *zero = builder.constant(type.elem, 0);
    return type.isScalar() ? zero : builder.full(zero, type.rows, type.cols);
  }

  /// A value from outside, of the result's type, that the first side makes the result of; null: none.
  static Value *sourceOf(const Op &branch, size_t i) {
    Value *source = nullptr;
    searchBack(branch.body(0).terminator()->operand(i), [&](const Value *at, std::vector<const Value *> &next) {
      const Op *op = at->definingOp ? at->definingOp : at->ownerBlock->parent;
      const size_t carried = at->definingOp ? at->index + 2 : at->index + 1;
      if (op && op->kind == OpKind::For && isDefinedIn(at, branch.body(0)))
        next = {op->operand(at->definingOp || at->index > 0 ? carried : 0)};
      else if (at->definingOp && isDefinedIn(at, branch.body(0)))
        next.assign(op->operands().begin(), op->operands().end());
      else if (at->type == branch.result(i)->type)
        source = const_cast<Value *>(at);
      return source != nullptr;
    });
    return source;
  }

  void replace(Op &branch) {
    Builder builder(function, branch.parent);
    builder.setInsertionPointBefore(&branch);
    builder.setLoc(branch.loc);
    std::vector<Value *> initial;
    for (size_t i = 0; i < branch.results.size(); ++i)
      initial.push_back(initialOf(branch, i, builder));
    std::vector<Value *> values = initial;
    for (size_t side : {0, 1})
      if (work(branch.body(side)) > 0 || (side == 0 && work(branch.body(1)) == 0))
        values = loop(branch, side, initial, values, builder);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i]->name = branch.result(i)->name;
      replaceAllUses(branch.result(i), values[i]);
    }
    erase(&branch);
  }

  /// One side of the branch: `values` where it does not run. `initial` is what these are where no side has run.
  std::vector<Value *> loop(Op &branch, size_t side, const std::vector<Value *> &initial,
                            const std::vector<Value *> &values, Builder &builder) {
    Value *condition = side == 0 ? branch.operand(0) : builder.unary(OpKind::Not, branch.operand(0));
    Op *loop =
        builder.forLoop(builder.constant(ElemType::I32, 0), builder.cast(ElemType::I32, condition), 0, "once", values);
    std::vector<Value *> results;
    for (size_t i = 0; i < values.size(); ++i) {
      loop->body().args[i + 1]->type = loop->result(i)->type = branch.result(i)->type;
      loop->body().args[i + 1]->name = branch.result(i)->name;
      results.push_back(loop->result(i));
    }
    Block &from = branch.body(side);
    while (!from.ops.empty())
      moveToEnd(from.ops.front().get(), &loop->body());
    for (size_t i = 0; i < values.size(); ++i)
      useInside(initial[i], loop->body().args[i + 1].get());
    return results;
  }

  /// In the one iteration that there may be, what is carried is still what it began as, which then nobody reads beside
  /// it. Constants stay: sums that begin with them are planned as such.
  static void useInside(const Value *initial, Value *carried) {
    if (initial->definingOp && initial->definingOp->kind == OpKind::Full)
      return;
    for (Op *user : std::vector<Op *>(initial->users))
      if (isWithin(user->parent, *carried->ownerBlock))
        for (size_t at = 0; at < user->operands().size(); ++at)
          if (user->operand(at) == initial)
            user->setOperand(at, carried);
  }

  Function &function;
};

} // namespace

void loopBranches(Function &function) { Looper(function).run(function.body); }

} // namespace tkc::ir
