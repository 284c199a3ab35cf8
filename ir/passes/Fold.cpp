// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes what is known when compiling, in one walk in order of definition:
//   add 2, 3 ⇒ 5     mul x, 1 ⇒ x     select true, x, y ⇒ x     if true { … } ⇒ …
// Floats fold where the result is the correctly rounded one that every target gives (+ - * /, min, max, comparisons);
// exp and its like are left to run time, where each target has its own error. `x + 0` stays for floats: it turns -0
// into 0.
// Runs first, since elaboration leaves consts and tunes as numbers; and after split-loops, which decides masks.
#include "ir/Effects.h"
#include "ir/passes/Passes.h"
#include "support/Tensor.h"

#include <cmath>

namespace tkc::ir {
namespace {

double wrapToI32(double value) {
  return static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(value))));
}

/// Beyond, doubles leave integers out.
bool isExact(double value) { return std::abs(value) < 0x1p53; }

bool isInteger32(double value) { return std::abs(value) <= 0x1p31 && value == std::floor(value); }

/// i64, as far as doubles are exact. What wraps is left to run time.
std::optional<double> foldInteger64(OpKind kind, double x, double y) {
  if (!isExact(x) || !isExact(y))
    return std::nullopt;
  const auto a = static_cast<int64_t>(x), b = static_cast<int64_t>(y);
  std::optional<double> result;
  if (kind == OpKind::Add)
    result = x + y;
  else if (kind == OpKind::Sub)
    result = x - y;
  else if (kind == OpKind::Mul)
    result = x * y;
  else if (kind == OpKind::Div)
    result = b == 0 ? 0 : static_cast<double>(a / b - (a % b != 0 && (a < 0) != (b < 0)));
  else if (kind == OpKind::Mod)
    result = b == 0 ? 0 : static_cast<double>((a % b + b) % b);
  else if (kind == OpKind::And)
    result = static_cast<double>(a & b);
  else if (kind == OpKind::Or)
    result = static_cast<double>(a | b);
  else if (kind == OpKind::Xor)
    result = static_cast<double>(a ^ b);
  else if (kind == OpKind::Shl && b >= 0 && b < 64)
    result = std::ldexp(x, static_cast<int>(b));
  else if (kind == OpKind::Shr && b >= 0 && b < 64)
    result = static_cast<double>(a >> b);
  return result && isExact(*result) ? result : std::nullopt;
}

std::optional<double> foldUnary(OpKind kind, ElemType elem, double x) {
  if (elem == ElemType::I64 && !isExact(x))
    return std::nullopt;
  if (elem == ElemType::I64)
    return kind == OpKind::Neg ? -x : kind == OpKind::Abs ? std::abs(x) : -x - 1;
  if (kind == OpKind::Neg)
    return isFloat(elem) ? -x : wrapToI32(-x);
  if (kind == OpKind::Abs)
    return isFloat(elem) ? std::abs(x) : wrapToI32(std::abs(x));
  if (kind == OpKind::Floor)
    return std::floor(x);
  if (kind == OpKind::Not)
    return elem == ElemType::Bool ? x == 0 : -x - 1;
  return std::nullopt;
}

std::optional<double> foldCompare(OpKind kind, double x, double y) {
  if (kind == OpKind::Eq)
    return x == y;
  if (kind == OpKind::Ne)
    return x != y;
  if (kind == OpKind::Lt)
    return x < y;
  if (kind == OpKind::Le)
    return x <= y;
  if (kind == OpKind::Gt)
    return x > y;
  if (kind == OpKind::Ge)
    return x >= y;
  return std::nullopt;
}

std::optional<double> foldInteger(OpKind kind, double x, double y) {
  auto a = static_cast<int64_t>(x), b = static_cast<int64_t>(y);
  bool isShift = b >= 0 && b < 32;
  if (kind == OpKind::Div)
    return b == 0 ? 0 : wrapToI32(std::floor(x / y));
  if (kind == OpKind::Mod)
    return b == 0 ? 0 : x - std::floor(x / y) * y;
  if (kind == OpKind::Mul)
    return wrapToI32(static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(a * b))));
  if (kind == OpKind::And)
    return static_cast<double>(a & b);
  if (kind == OpKind::Or)
    return static_cast<double>(a | b);
  if (kind == OpKind::Xor)
    return static_cast<double>(a ^ b);
  if (kind == OpKind::Shl)
    return isShift ? std::optional(wrapToI32(static_cast<double>(a << b))) : std::nullopt;
  if (kind == OpKind::Shr)
    return isShift ? std::optional(static_cast<double>(a >> b)) : std::nullopt;
  return std::nullopt;
}

std::optional<double> foldBinary(OpKind kind, ElemType elem, double x, double y) {
  if (isCompare(kind))
    return foldCompare(kind, x, y);
  if (kind == OpKind::Max)
    return std::fmax(x, y);
  if (kind == OpKind::Min)
    return std::fmin(x, y);
  if (elem == ElemType::I64)
    return foldInteger64(kind, x, y);
  if (!isFloat(elem)) {
    if (kind == OpKind::Add)
      return wrapToI32(x + y);
    if (kind == OpKind::Sub)
      return wrapToI32(x - y);
    return isInteger32(x) && isInteger32(y) ? foldInteger(kind, x, y) : std::nullopt;
  }
  if (kind == OpKind::Add)
    return x + y;
  if (kind == OpKind::Sub)
    return x - y;
  if (kind == OpKind::Mul)
    return x * y;
  if (kind == OpKind::Div)
    return x / y;
  return std::nullopt;
}

/// The operand that `op` equals by an identity, or null.
Value *identity(const Op &op) {
  Value *x = op.operand(0), *y = op.operand(1);
  bool isInt = !isFloat(x->type.elem), isBool = x->type.elem == ElemType::Bool;
  switch (op.kind) {
  case OpKind::Add:
    if (isInt && isConstant(x, 0))
      return y;
    return isInt && isConstant(y, 0) ? x : nullptr;
  case OpKind::Sub:
  case OpKind::Shl:
  case OpKind::Shr:
    return isConstant(y, 0) && (isInt || !std::signbit(*constantOf(y))) ? x : nullptr;
  case OpKind::Mul:
    if (isConstant(x, 1))
      return y;
    return isConstant(y, 1) ? x : nullptr;
  case OpKind::Div:
    return isConstant(y, 1) ? x : nullptr;
  case OpKind::Max:
  case OpKind::Min:
    return x == y ? x : nullptr;
  case OpKind::And:
    if (isBool && isConstant(x, 1))
      return y;
    return x == y || (isBool && isConstant(y, 1)) ? x : nullptr;
  case OpKind::Or:
    if (isBool && isConstant(x, 0))
      return y;
    return x == y || (isBool && isConstant(y, 0)) ? x : nullptr;
  default: // no other op has an operand that leaves the other alone
    return nullptr;
  }
}

/// The number that `op` is whatever the operand that is not known, or nullopt.
std::optional<double> absorbed(const Op &op) {
  Value *x = op.operand(0), *y = op.operand(1);
  bool isInt = !isFloat(x->type.elem), isBool = x->type.elem == ElemType::Bool;
  auto either = [&](double number) { return isConstant(x, number) || isConstant(y, number); };
  switch (op.kind) {
  case OpKind::Mul:
    return isInt && either(0) ? std::optional(0.0) : std::nullopt;
  case OpKind::And:
    return either(0) ? std::optional(0.0) : std::nullopt;
  case OpKind::Or:
    return isBool && either(1) ? std::optional(1.0) : std::nullopt;
  case OpKind::Sub:
  case OpKind::Xor:
    return isInt && x == y ? std::optional(0.0) : std::nullopt;
  case OpKind::Mod:
    return isConstant(y, 1) ? std::optional(0.0) : std::nullopt;
  case OpKind::Eq:
  case OpKind::Le:
  case OpKind::Ge:
    return isInt && x == y ? std::optional(1.0) : std::nullopt;
  case OpKind::Ne:
  case OpKind::Lt:
  case OpKind::Gt:
    return isInt && x == y ? std::optional(0.0) : std::nullopt;
  default: // no other op has such a number
    return std::nullopt;
  }
}

class Folder {
public:
  explicit Folder(Function &function) : function(function) {}

  void fold(Block &block) {
    for (auto next = block.ops.begin(); next != block.ops.end();) {
      Op &op = **next++;
      for (auto &body : op.bodies)
        fold(*body);
      if (op.kind == OpKind::If)
        foldIf(op);
      else if (op.results.size() == 1 && op.bodies.empty())
        if (Value *known = simpler(op)) {
          if (known->name.empty())
            known->name = op.result()->name;
          replaceAllUses(op.result(), known);
          erase(&op);
        }
    }
  }

private:
  Function &function;

  /// What to put in the op's place, or null.
  Value *simpler(Op &op) {
    if (isElementwiseUnary(op.kind)) {
      std::optional<double> x = constantOf(op.operand(0));
      std::optional<double> folded = x ? foldUnary(op.kind, op.operand(0)->type.elem, *x) : std::nullopt;
      return folded ? number(op, *folded) : nullptr;
    }
    if (isElementwiseBinary(op.kind))
      return simplerBinary(op);
    if (op.kind == OpKind::Select)
      return simplerSelect(op);
    if (op.kind == OpKind::Cast && op.operand(0)->type.isScalar())
      if (std::optional<double> known = constantOf(op.result()))
        return number(op, *known);
    return nullptr;
  }

  Value *simplerBinary(Op &op) {
    std::optional<double> x = constantOf(op.operand(0)), y = constantOf(op.operand(1));
    if (x && y)
      if (std::optional<double> folded = foldBinary(op.kind, op.operand(0)->type.elem, *x, *y))
        return number(op, *folded);
    if (Value *same = identity(op))
      return inPlaceOf(op, same);
    std::optional<double> known = absorbed(op);
    return known ? number(op, *known) : nullptr;
  }

  Value *simplerSelect(Op &op) {
    if (op.operand(1) == op.operand(2))
      return inPlaceOf(op, op.operand(1));
    if (std::optional<double> condition = constantOf(op.operand(0)))
      return inPlaceOf(op, op.operand(*condition != 0 ? 1 : 2));
    return nullptr;
  }

  /// `value` if it is of the op's type; else a cast or a full tile of it; null where its shape or edges are others.
  Value *inPlaceOf(Op &op, Value *value) {
    Builder builder(function, op.parent);
    builder.setInsertionPointBefore(&op);
    builder.setLoc(op.loc);
    const Type &type = op.result()->type;
    Type shape = value->type;
    shape.elem = type.elem;
    bool isFull = value->type.isScalar() && type.isTile() && !type.rowEnd && !type.colEnd;
    if (shape != type && !isFull)
      return nullptr;
    value = builder.cast(type.elem, value);
    return isFull ? builder.full(value, type.rows, type.cols) : value;
  }

  /// A constant of the op's shape. Edges are given up: what ends nowhere meets every edge, but for an op whose result
  /// leaves its body, where the type is fixed.
  Value *number(Op &op, double value) {
    const Type &type = op.result()->type;
    if (type.rowEnd || type.colEnd || type.kind == Type::Vector)
      return nullptr;
    Builder builder(function, op.parent);
    builder.setInsertionPointBefore(&op);
    builder.setLoc(op.loc);
    Value *scalar = builder.constant(type.elem, roundTo(type.elem, value));
    return type.isTile() ? builder.full(scalar, type.rows, type.cols) : scalar;
  }

  /// The branch that is taken takes the op's place.
  void foldIf(Op &op) {
    std::optional<double> condition = constantOf(op.operand(0));
    if (!condition)
      return;
    Block &taken = op.body(*condition != 0 ? 0 : 1);
    Op *yield = taken.terminator();
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (yield->operand(i)->type != op.result(i)->type)
        return; // the result has an edge that the value lacks
    }
    for (size_t i = 0; i < op.results.size(); ++i)
      replaceAllUses(op.result(i), yield->operand(i));
    if (yield)
      erase(yield);
    while (!taken.ops.empty())
      moveBefore(taken.ops.front().get(), &op);
    erase(&op);
  }
};

} // namespace

void fold(Function &function) { Folder(function).fold(function.body); }

} // namespace tkc::ir
