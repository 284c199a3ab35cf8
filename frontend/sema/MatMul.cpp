// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `@`: equal types (any two float8s), accumulation in f32, f64 or i32. `x + a @ b` becomes one product that
// accumulates onto x.
#include "frontend/sema/Elaborator.h"

#include "llvm/Support/Casting.h"

#include <fmt/core.h>

namespace tkc::sema {

bool Elaborator::checkMatMulTypes(ElemType lhs, ElemType rhs, const ast::BinaryExpr &expr) {
  auto both = [&](Reported reported) { reported.range(expr.lhs->range).range(expr.rhs->range); };
  for (ElemType elem : {lhs, rhs})
    if (isPacked(elem)) {
      both(isFloat(elem) ? error(Diag::matmul_unscaled, expr.opRange, spelling(elem))
                         : error(Diag::matmul_four_bits, expr.opRange, spelling(elem),
                                 spelling(elem == ElemType::U4 ? ElemType::U8 : ElemType::I8)));
      return false;
    }
  for (ElemType elem : {lhs, rhs})
    if (elem == ElemType::Bool || elem == ElemType::F8E8M0 || elem == ElemType::I32 || elem == ElemType::I64) {
      both(error(Diag::matmul_element, expr.opRange, spelling(elem)));
      return false;
    }
  if (lhs == rhs || (isFloat8(lhs) && isFloat8(rhs)))
    return true;
  const bool lhsFloats = isFloat(lhs), rhsFloats = isFloat(rhs);
  const ElemType floats = lhsFloats ? lhs : rhs; // where one is
  if (!(lhsFloats && rhsFloats)) {               // bytes, which 8 significant bits hold, but no cast between them
    if (lhsFloats == rhsFloats || isFloat8(floats))
      both(error(Diag::matmul_types_both, expr.opRange, spelling(lhs), spelling(rhs)));
    else
      both(error(Diag::matmul_types_widen, expr.opRange, spelling(lhs), spelling(rhs), spelling(floats),
                 lhsFloats ? "right" : "left"));
    return false;
  }
  // A tf32 has the bits of an f32, and fewer that count.
  const bool lhsWider = bitWidth(lhs) > bitWidth(rhs) || (lhs == ElemType::F32 && rhs == ElemType::TF32);
  both(error(Diag::matmul_types, expr.opRange, spelling(lhs), spelling(rhs), spelling(lhsWider ? rhs : lhs),
             lhsWider ? "left" : "right"));
  return false;
}

/// "`b` is declared [K, N], so `b[n, k]` is 256×64".
void Elaborator::noteDeclaredDims(Reported &reported, const ast::Expr *expr, const ir::Type &type) {
  auto *index = llvm::dyn_cast<ast::IndexExpr>(expr);
  auto *name = index ? llvm::dyn_cast<ast::NameExpr>(index->base) : nullptr;
  if (!name || findVariable(name->name))
    return;
  for (const ir::Param &param : kernel.signature.params) {
    if (param.name != name->name)
      continue;
    std::string dims;
    for (const ir::DimExpr &dim : param.dims)
      dims += (dims.empty() ? "" : ", ") + dim.str();
    std::string text(reporter.diagnostics().sourceManager().text(expr->range));
    reported.note(Diag::note_declared_dims, {param.loc, param.loc}, param.name, dims, text, shapeText(type));
  }
}

Val Elaborator::matmul(const ast::BinaryExpr &expr) { return matmul(expr, Val::constant(ElemType::F32, 0), {}, {}); }

Val Elaborator::matmul(const ast::BinaryExpr &expr, const Val &accumulator, SourceRange accumulatorRange,
                       SourceRange plus) {
  Val left = this->expr(expr.lhs), right = this->expr(expr.rhs);
  builder.setLoc(expr.opRange.begin);
  for (const ir::Param &param : function->params)
    if (param.isLocal)
      error(Diag::new_beside_product, expr.opRange).note(Diag::note_declared_here, {param.loc, param.loc}, param.name);
  if (left.isError() || right.isError() || accumulator.isError())
    return Val::error();
  const bool isScaled = left.isScaled() || right.isScaled();
  if (isScaled && !checkScaledOperands(left, right, expr))
    return Val::error();
  ir::Value *a = isScaled ? left.value : toTile(left, expr.lhs->range);
  ir::Value *b = isScaled ? right.value : toTile(right, expr.rhs->range);
  if (!a || !b || (!isScaled && !checkMatMulTypes(a->type.elem, b->type.elem, expr)))
    return Val::error();
  if (a->type.cols != b->type.rows) {
    Reported reported = error(Diag::matmul_shapes, expr.opRange, a->type.cols, b->type.rows);
    reported.range(expr.lhs->range).range(expr.rhs->range);
    if (a->type.cols == b->type.cols)
      reported.fixIt({expr.rhs->range.end, expr.rhs->range.end}, ".T");
    noteDeclaredDims(reported, expr.lhs, a->type);
    noteDeclaredDims(reported, expr.rhs, b->type);
    return Val::error();
  }
  if (!ir::joinEdges(a->type.colEnd, b->type.rowEnd)) {
    error(Diag::matmul_edges, expr.opRange, a->type.colEnd->name, b->type.rowEnd->name)
        .range(expr.lhs->range)
        .range(expr.rhs->range);
    return Val::error();
  }
  if (!hasWholeAxis(a->type, 1, expr.lhs->range) || !hasWholeAxis(b->type, 0, expr.rhs->range))
    return Val::error();
  const auto product = [&](ir::Value *onto) {
    return Val::ofValue(isScaled ? builder.dotScaled(a, left.scales, b, right.scales, onto) : builder.dot(a, b, onto));
  };
  if (!plus.isValid())
    return product(nullptr);
  bool isTile = accumulator.isValue() && accumulator.value->type.isTile();
  if (isTile) {
    ir::Type type =
        ir::Type::tile(arithmeticType(a->type.elem), a->type.rows, b->type.cols, a->type.rowEnd, b->type.colEnd);
    const ir::Type &onto = accumulator.value->type;
    if (onto.elem == type.elem && onto.rows == type.rows && onto.cols == type.cols && ir::broadcast(type, onto))
      return product(accumulator.value);
  }
  return combine(ast::BinaryOp::Add, {accumulator, product(nullptr), plus, accumulatorRange, expr.range});
}

} // namespace tkc::sema
