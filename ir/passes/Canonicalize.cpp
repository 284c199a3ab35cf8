// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives things that are equal one spelling, so that the passes behind and the planner look for one:
//   add acc, (dot a, b)            ⇒ dot a, b, acc        what a matrix unit does; sums in another order
//   transpose (transpose x)        ⇒ x
//   add (full s), x                ⇒ add s, x             a scalar where it broadcasts anyway
//   add 1, x                       ⇒ add x, 1             constants to the right
//   select (not c), x, y           ⇒ select c, y, x
//   select c, (select d, x, y), y  ⇒ select (and c, d), x, y
//   cast (cast x)                  ⇒ cast x               where the inner one keeps every value
//   cast (transpose x)             ⇒ transpose (cast x)   of packed x: what shares bytes is not turned by itself
//   transpose x                    ⇒ cast (transpose (cast x))   of packed x, where anything but products and casts reads it
//   eq (cast (elements k)), y      ⇒ eq (elements k), (cast y)   of an i64 y: places need no 64 bits
#include "ir/Effects.h"
#include "ir/Products.h"
#include "ir/passes/Passes.h"

#include <algorithm>

namespace tkc::ir {
namespace {

/// Every `from` is a `to`.
bool isExactCast(ElemType from, ElemType to) {
  if (from == to || to == ElemType::F64)
    return from != ElemType::I64;
  if (to == ElemType::F32)
    return isFloat(from) ? from != ElemType::F64 : bitWidth(from) <= 8;
  if (to == ElemType::TF32 || to == ElemType::BF16)
    return from == ElemType::BF16 || saturates(from) || isPacked(from) || (to == ElemType::TF32 && from == ElemType::F16);
  if (to == ElemType::F16)
    return isFloat8(from) || isPacked(from);
  if (to == ElemType::F8E4M3)
    return isPacked(from);
  if (to == ElemType::F8E5M2)
    return from == ElemType::F6E3M2 || from == ElemType::F4E2M1;
  if (isFloat6(to))
    return from == ElemType::F4E2M1;
  return (to == ElemType::I32 || to == ElemType::I64) && !isFloat(from) && from != ElemType::I64;
}

bool isCommutative(OpKind kind) {
  return kind == OpKind::Add || kind == OpKind::Mul || kind == OpKind::Max || kind == OpKind::Min ||
         kind == OpKind::And || kind == OpKind::Or || kind == OpKind::Xor || kind == OpKind::Eq || kind == OpKind::Ne;
}

class Canonicalizer {
public:
  explicit Canonicalizer(Function &function) : function(function) {}

  void run(Block &block) {
    for (auto next = block.ops.begin(); next != block.ops.end();) {
      Op &op = **next++;
      for (auto &body : op.bodies)
        run(*body);
      if (isElementwiseBinary(op.kind) || op.kind == OpKind::Select)
        useScalars(op);
      if (isCommutative(op.kind) && constantOf(op.operand(0)) && !constantOf(op.operand(1)))
        swap(op);
      if (Value *same = simpler(op)) {
        if (same->name.empty())
          same->name = op.result()->name;
        replaceAllUses(op.result(), same);
        erase(&op);
      }
    }
  }

private:
  Function &function;

  Builder before(Op &op) {
    Builder builder(function, op.parent);
    builder.setInsertionPointBefore(&op);
    builder.setLoc(op.loc);
    return builder;
  }

  static void swap(Op &op) {
    Value *x = op.operand(0), *y = op.operand(1);
    op.setOperand(0, y);
    op.setOperand(1, x);
  }

  /// A full tile gives way to its scalar where the other operands make the result's shape without it.
  void useScalars(Op &op) {
    for (size_t i = 0; i < op.operands().size(); ++i) {
      Op *full = definedBy(op.operand(i), OpKind::Full);
      if (!full)
        continue;
      std::optional<Type> shape = full->operand(0)->type;
      for (size_t other = 0; other < op.operands().size() && shape; ++other)
        if (other != i)
          shape = broadcast(*shape, op.operand(other)->type);
      const Type &type = op.result()->type;
      if (shape && shape->kind == type.kind && shape->rows == type.rows && shape->cols == type.cols)
        op.setOperand(i, full->operand(0));
    }
  }

  /// Places are 0 and more, and less than the greatest i32, with which i64 that are too large saturate.
  Value *narrowCompare(Op &op) {
    if (op.operand(0)->type.elem != ElemType::I64)
      return nullptr;
    for (const size_t side : {0, 1}) {
      Op *cast = definedBy(op.operand(side), OpKind::Cast);
      const Op *elements = cast ? definedBy(cast->operand(0), OpKind::Elements) : nullptr;
      if (!elements || elements->operand(0)->definingOp) // of a tile that was moved
        continue;
      Builder builder = before(op);
      Value *other = builder.cast(ElemType::I32, op.operand(1 - side));
      return side == 0 ? builder.binary(op.kind, cast->operand(0), other)
                       : builder.binary(op.kind, other, cast->operand(0));
    }
    return nullptr;
  }

  Value *simpler(Op &op) {
    if (isCompare(op.kind))
      return narrowCompare(op);
    switch (op.kind) {
    case OpKind::Add:
      return ontoAccumulator(op);
    case OpKind::Dot:
      return outerProduct(op);
    case OpKind::Transpose:
      return transposed(op);
    case OpKind::Select:
      return simplerSelect(op);
    case OpKind::Cast:
      return simplerCast(op);
    default: // nothing to say about the others
      return nullptr;
    }
  }

  Value *ontoAccumulator(Op &op) {
    for (size_t i : {1, 0}) {
      Op *dot = definedBy(op.operand(i), OpKind::Dot);
      Op *scaled = definedBy(op.operand(i), OpKind::DotScaled);
      if (!dot)
        dot = scaled;
      Value *accumulator = op.operand(1 - i);
      const Type &type = op.result()->type;
      if (!dot || dot->operands().size() % 2 == 1 || dot->result()->users.size() != 1 || dot->parent != op.parent ||
          !accumulator->type.isTile() || accumulator->type.elem != dot->result()->type.elem ||
          accumulator->type.rows != type.rows || accumulator->type.cols != type.cols ||
          dot->result()->type.rows != type.rows || dot->result()->type.cols != type.cols)
        continue;
      return scaled
                 ? before(op).dotScaled(dot->operand(0), dot->operand(1), dot->operand(2), dot->operand(3), accumulator)
                 : before(op).dot(dot->operand(0), dot->operand(1), accumulator);
    }
    return nullptr;
  }

  /// A column times a row contracts nothing.
  Value *outerProduct(Op &op) {
    if (op.operand(0)->type.cols != 1)
      return nullptr;
    Builder builder = before(op);
    const ElemType elem = op.result()->type.elem;
    const auto widened = [&](Value *x) { return x->type.elem == elem ? x : builder.cast(elem, x); };
    Value *product = builder.binary(OpKind::Mul, widened(op.operand(0)), widened(op.operand(1)));
    return op.operands().size() > 2 ? builder.binary(OpKind::Add, op.operand(2), product) : product;
  }

  Value *transposed(Op &op) {
    Value *x = op.operand(0);
    if (x->type.rows == 1 && x->type.cols == 1)
      return x;
    if (Op *inner = definedBy(x, OpKind::Transpose))
      return inner->operand(0);
    if (Op *inner = definedBy(x, OpKind::Elements))
      return before(op).elements(inner->operand(0), 1 - inner->axis);
    if (Op *inner = definedBy(x, OpKind::Full))
      return before(op).full(inner->operand(0), x->type.cols, x->type.rows);
    if (Op *inner = definedBy(x, OpKind::AsCol))
      return before(op).asRow(inner->operand(0));
    if (Op *inner = definedBy(x, OpKind::AsRow))
      return before(op).asCol(inner->operand(0));
    return isTurnedWhole(op) ? turnedByBytes(op) : nullptr;
  }

  /// A transpose of packed elements that itself is stored, chosen or carried.
  static bool isTurnedWhole(const Op &transpose) {
    const auto &users = transpose.result()->users;
    return isPacked(transpose.result()->type.elem) && std::any_of(users.begin(), users.end(), [](const Op *user) {
             return !isProduct(*user) && user->kind != OpKind::Cast && user->kind != OpKind::Transpose;
           });
  }

  /// In a type that holds every number of the packed one in whole bytes.
  Value *turnedByBytes(Op &transpose) {
    const ElemType packed = transpose.result()->type.elem;
    const ElemType wide = isFloat(packed) ? ElemType::F16 : packed == ElemType::U4 ? ElemType::U8 : ElemType::I8;
    Builder builder = before(transpose);
    return builder.cast(packed, builder.transpose(builder.cast(wide, transpose.operand(0))));
  }

  Value *simplerCast(Op &op) {
    const ElemType elem = op.result()->type.elem;
    if (Op *inner = definedBy(op.operand(0), OpKind::Cast))
      if (Value *source = inner->operand(0); isExactCast(source->type.elem, inner->result()->type.elem))
        return source->type.elem == elem ? source : before(op).cast(elem, source);
    Op *inner = definedBy(op.operand(0), OpKind::Transpose);
    if (!inner || !isPacked(inner->result()->type.elem))
      return nullptr;
    Builder builder = before(op);
    return builder.transpose(builder.cast(elem, inner->operand(0)));
  }

  Value *simplerSelect(Op &op) {
    Value *condition = op.operand(0), *x = op.operand(1), *y = op.operand(2);
    if (Op *negation = definedBy(condition, OpKind::Not))
      return before(op).select(negation->operand(0), y, x);
    Op *inner = definedBy(x, OpKind::Select);
    if (!inner || !sameConstant(inner->operand(2), y) || inner->result()->users.size() != 1)
      return nullptr;
    Builder builder = before(op);
    Value *both = builder.binary(OpKind::And, inner->operand(0), condition);
    return builder.select(both, inner->operand(1), y);
  }

  static bool sameConstant(Value *x, Value *y) {
    std::optional<double> a = constantOf(x), b = constantOf(y);
    return x == y || (a && b && *a == *b && x->type.isScalar() && y->type.isScalar());
  }
};

} // namespace

void canonicalize(Function &function) { Canonicalizer(function).run(function.body); }

} // namespace tkc::ir
