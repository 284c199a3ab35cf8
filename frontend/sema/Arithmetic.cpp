// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise operators: which type the operation is done in, and whether the operands' shapes and edges meet.
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/Elaborator.h"

#include "llvm/Support/Casting.h"

namespace tkc::sema {
namespace {

using ast::BinaryOp;
using ir::OpKind;

std::optional<OpKind> opKind(BinaryOp op) {
  switch (op) {
  case BinaryOp::Mul:
    return OpKind::Mul;
  case BinaryOp::Div:
    return OpKind::Div;
  case BinaryOp::Mod:
    return OpKind::Mod;
  case BinaryOp::Add:
    return OpKind::Add;
  case BinaryOp::Sub:
    return OpKind::Sub;
  case BinaryOp::Shl:
    return OpKind::Shl;
  case BinaryOp::Shr:
    return OpKind::Shr;
  case BinaryOp::BitAnd:
  case BinaryOp::And:
    return OpKind::And;
  case BinaryOp::BitXor:
    return OpKind::Xor;
  case BinaryOp::BitOr:
  case BinaryOp::Or:
    return OpKind::Or;
  case BinaryOp::Eq:
    return OpKind::Eq;
  case BinaryOp::Ne:
    return OpKind::Ne;
  case BinaryOp::Lt:
    return OpKind::Lt;
  case BinaryOp::Le:
    return OpKind::Le;
  case BinaryOp::Gt:
    return OpKind::Gt;
  case BinaryOp::Ge:
    return OpKind::Ge;
  case BinaryOp::MatMul:
    return std::nullopt;
  }
  return std::nullopt;
}

/// What the operands of an operator have to be.
enum class Wants : uint8_t { Numbers, Integers, Bits, Bools };

Wants wants(BinaryOp op) {
  switch (op) {
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::MatMul:
    return Wants::Numbers;
  case BinaryOp::Mod:
  case BinaryOp::Shl:
  case BinaryOp::Shr:
    return Wants::Integers;
  case BinaryOp::BitAnd:
  case BinaryOp::BitXor:
  case BinaryOp::BitOr:
    return Wants::Bits;
  case BinaryOp::And:
  case BinaryOp::Or:
    return Wants::Bools;
  }
  return Wants::Numbers;
}

/// A bool counts as an integer.
ElemType numberType(const Val &val) {
  ElemType elem = arithmeticType(val.type().elem);
  return elem == ElemType::Bool ? ElemType::I32 : elem;
}

bool isBool(const Val &val) { return val.type().elem == ElemType::Bool; }

bool isTransposable(const ir::Type &type) { return type.isTile() && type.rows != type.cols; }

ir::Type transposed(ir::Type type) {
  std::swap(type.rows, type.cols);
  std::swap(type.rowEnd, type.colEnd);
  return type;
}

} // namespace

/// The type of arithmetic on two operands; a literal takes the other's.
static ElemType commonNumberType(const Val &lhs, const Val &rhs) {
  ElemType a = numberType(lhs), b = numberType(rhs);
  bool weakLeft = lhs.isConst() && lhs.isWeak, weakRight = rhs.isConst() && rhs.isWeak;
  if (weakLeft != weakRight) {
    ElemType literal = weakLeft ? a : b, other = weakLeft ? b : a;
    return isFloat(literal) && !isFloat(other) ? ElemType::F32 : other;
  }
  return ir::joinElemTypes(a, b);
}

std::optional<ElemType> Elaborator::operandType(BinaryOp op, const Operands &operands) {
  const Val &lhs = operands.lhs, &rhs = operands.rhs;
  ElemType elem = commonNumberType(lhs, rhs);
  bool bothBool = isBool(lhs) && isBool(rhs);
  switch (wants(op)) {
  case Wants::Numbers:
    return elem;
  case Wants::Integers:
    if (!isFloat(elem))
      return elem;
    break;
  case Wants::Bits:
    if (bothBool)
      return ElemType::Bool;
    if (!isFloat(elem))
      return elem;
    break;
  case Wants::Bools:
    if (bothBool)
      return ElemType::Bool;
    error(Diag::wants_bools, operands.opRange, spelling(op), describe(lhs), describe(rhs))
        .range(operands.lhsRange)
        .range(operands.rhsRange);
    return std::nullopt;
  }
  error(Diag::wants_integers, operands.opRange, spelling(op), describe(lhs), describe(rhs))
      .range(operands.lhsRange)
      .range(operands.rhsRange);
  return std::nullopt;
}

Val Elaborator::unary(const ast::UnaryExpr &expr) {
  Val operand = this->expr(expr.operand);
  if (!isOperand(operand, expr.operand->range))
    return Val::error();
  builder.setLoc(expr.range.begin);
  bool wrongType = expr.op == ast::UnaryOp::Not      ? !isBool(operand)
                   : expr.op == ast::UnaryOp::BitNot ? isFloat(operand.type().elem)
                                                     : false;
  if (wrongType) {
    error(expr.op == ast::UnaryOp::Not ? Diag::not_wants_bool : Diag::complement_wants_integer, expr.opRange,
          describe(operand))
        .range(expr.operand->range);
    return Val::error();
  }
  if (operand.isConst())
    return foldUnary(expr.op, operand).value_or(Val::error());
  if (expr.op == ast::UnaryOp::Neg)
    return Val::ofValue(builder.unary(OpKind::Neg, builder.cast(numberType(operand), operand.value)));
  return Val::ofValue(
      builder.unary(OpKind::Not, isBool(operand) ? operand.value : builder.cast(numberType(operand), operand.value)));
}

Val Elaborator::binary(const ast::BinaryExpr &expr) {
  if (isNoneTest(expr))
    return noneTest(expr);
  if (expr.op == BinaryOp::MatMul)
    return matmul(expr);
  if (expr.op == BinaryOp::Eq || expr.op == BinaryOp::Ne)
    if (std::optional<ElemType> a = typeOperand(expr.lhs), b = typeOperand(expr.rhs); a && b)
      return Val::boolean((*a == *b) == (expr.op == BinaryOp::Eq));
  Val lhs = this->expr(expr.lhs);
  bool isLogic = expr.op == BinaryOp::And || expr.op == BinaryOp::Or;
  // What a constant decides is not looked at: `bias != none and bias[n] > 0`.
  if (isLogic && lhs.isConst() && isBool(lhs) && (lhs.number != 0) == (expr.op == BinaryOp::Or))
    return lhs;
  auto *product = llvm::dyn_cast<ast::BinaryExpr>(expr.rhs);
  if (expr.op == BinaryOp::Add && product && product->op == BinaryOp::MatMul)
    return matmul(*product, lhs, expr.lhs->range, expr.opRange);
  Val rhs = this->expr(expr.rhs);
  builder.setLoc(expr.range.begin);
  return combine(expr.op, {lhs, rhs, expr.opRange, expr.lhs->range, expr.rhs->range});
}

Val Elaborator::combine(BinaryOp op, const Operands &operands) {
  const Val &lhs = operands.lhs, &rhs = operands.rhs;
  if (lhs.isError() || rhs.isError())
    return Val::error();
  if (op == BinaryOp::Div && lhs.isTileIndex())
    return divideTileIndex(operands);
  if (lhs.isTileIndex() || rhs.isTileIndex())
    return moveTileIndex(op, operands);
  if (!isOperand(lhs, operands.lhsRange) || !isOperand(rhs, operands.rhsRange))
    return Val::error();
  bool isLogic = op == BinaryOp::And || op == BinaryOp::Or;
  if (isLogic && isBool(lhs) && isBool(rhs) && lhs.isConst() != rhs.isConst()) {
    // `true and x` is x; what decides has been dealt with on the left.
    const Val &constant = lhs.isConst() ? lhs : rhs, &other = lhs.isConst() ? rhs : lhs;
    if ((constant.number != 0) == (op == BinaryOp::And))
      return other;
  }
  std::optional<ElemType> elem = operandType(op, operands);
  if (!elem)
    return Val::error();
  if (lhs.isConst() && rhs.isConst()) {
    std::optional<Val> folded = foldBinary(op, lhs, rhs);
    if (!folded)
      error(Diag::constant_undefined, operands.opRange, spelling(op), lhs.number, rhs.number);
    return folded.value_or(Val::error());
  }
  return elementwise(*opKind(op), spelling(op), *elem, operands);
}

/// `t - 3`, `t + n`, `n + t`: the tile index elsewhere.
Val Elaborator::moveTileIndex(BinaryOp op, const Operands &operands) {
  bool onRight = operands.rhs.isTileIndex();
  const Val &index = onRight ? operands.rhs : operands.lhs, &by = onRight ? operands.lhs : operands.rhs;
  bool isMove = (op == BinaryOp::Add || (op == BinaryOp::Sub && !onRight)) && index.divisor == 1;
  if (!isMove || by.isTileIndex()) {
    error(Diag::tile_index_operand, onRight ? operands.rhsRange : operands.lhsRange, index.value->name);
    return Val::error();
  }
  if (by.isInteger() && by.number == 0)
    return index;
  Val distance = by;
  if (op == BinaryOp::Sub && by.isInteger())
    distance = Val::integer(-static_cast<int64_t>(by.number));
  ir::Value *value = toInteger(distance, onRight ? operands.lhsRange : operands.rhsRange, "the distance of a move");
  if (!value)
    return Val::error();
  if (op == BinaryOp::Sub && !by.isConst())
    value = builder.unary(OpKind::Neg, value);
  return Val::ofValue(builder.shift(index.value, value));
}

bool Elaborator::checkBroadcast(const ir::Type &lhs, const ir::Type &rhs, std::string_view op,
                                const Operands &operands) {
  if (ir::broadcast(lhs, rhs))
    return true;
  bool lhsVector = lhs.kind == ir::Type::Vector, rhsVector = rhs.kind == ir::Type::Vector;
  if (lhsVector != rhsVector) {
    error(Diag::vector_meets_tile, lhsVector ? operands.lhsRange : operands.rhsRange, describe(lhsVector ? lhs : rhs));
    return false;
  }
  auto clash = [](int64_t x, int64_t y) { return x != y && x != 1 && y != 1; };
  if (!clash(lhs.rows, rhs.rows) && !clash(lhs.cols, rhs.cols) && !(lhsVector && lhs.rows != rhs.rows)) {
    bool inRows = !ir::joinEdges(lhs.rowEnd, rhs.rowEnd) && lhs.rows != 1 && rhs.rows != 1;
    const ir::Value *left = inRows ? lhs.rowEnd : lhs.colEnd, *right = inRows ? rhs.rowEnd : rhs.colEnd;
    error(Diag::edges_differ, operands.opRange, inRows ? "rows" : "columns", left->name, right->name)
        .range(operands.lhsRange)
        .range(operands.rhsRange);
    return false;
  }
  Reported reported = error(Diag::shapes_differ, operands.opRange, op, describe(lhs), describe(rhs));
  reported.range(operands.lhsRange).range(operands.rhsRange);
  if (isTransposable(rhs) && ir::broadcast(lhs, transposed(rhs)))
    reported.note(Diag::note_transpose, operands.rhsRange, "right", shapeText(transposed(rhs)));
  else if (isTransposable(lhs) && ir::broadcast(transposed(lhs), rhs))
    reported.note(Diag::note_transpose, operands.lhsRange, "left", shapeText(transposed(lhs)));
  return false;
}

Val Elaborator::elementwise(OpKind kind, std::string_view spelling, ElemType elem, const Operands &operands) {
  ir::Value *lhs = toElem(operands.lhs, elem, operands.lhsRange);
  ir::Value *rhs = toElem(operands.rhs, elem, operands.rhsRange);
  if (!lhs || !rhs || !checkBroadcast(lhs->type, rhs->type, spelling, operands))
    return Val::error();
  return Val::ofValue(builder.binary(kind, lhs, rhs));
}

Val Elaborator::minMax(OpKind kind, std::string_view spelling, const Operands &operands) {
  const Val &lhs = operands.lhs, &rhs = operands.rhs;
  if (!isOperand(lhs, operands.lhsRange) || !isOperand(rhs, operands.rhsRange))
    return Val::error();
  ElemType elem = commonNumberType(lhs, rhs);
  if (lhs.isConst() && rhs.isConst()) {
    bool takesLeft = kind == OpKind::Max ? lhs.number >= rhs.number : lhs.number <= rhs.number;
    return Val::constant(elem, takesLeft ? lhs.number : rhs.number, lhs.isWeak && rhs.isWeak);
  }
  return elementwise(kind, spelling, elem, operands);
}

} // namespace tkc::sema
