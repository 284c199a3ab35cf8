// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dispatch on expressions, and the small ones: names, members, tests for `none`.
#include "frontend/sema/Elaborator.h"
#include "frontend/sema/ModulePhases.h"
#include "support/ForeignWords.h"

#include "llvm/Support/Casting.h"

namespace tkc::sema {

Val Elaborator::expr(const ast::Expr *expr) {
  builder.setLoc(expr->range.begin);
  Val result = exprAt(expr);
  builder.setLoc(expr->range.begin);
  return result;
}

Val Elaborator::exprAt(const ast::Expr *expr) {
  switch (expr->kind) {
  case ast::ExprKind::Error:
    return Val::error();
  case ast::ExprKind::Number: {
    auto *number = llvm::cast<ast::NumberExpr>(expr);
    return number->isFloat ? Val::constant(ElemType::F32, number->value) : Val::integer(number->integer);
  }
  case ast::ExprKind::Bool:
    return Val::boolean(llvm::cast<ast::BoolExpr>(expr)->value);
  case ast::ExprKind::Name:
    return lookup(*llvm::cast<ast::NameExpr>(expr));
  case ast::ExprKind::Unary:
    return unary(*llvm::cast<ast::UnaryExpr>(expr));
  case ast::ExprKind::Binary:
    return binary(*llvm::cast<ast::BinaryExpr>(expr));
  case ast::ExprKind::Call:
    return call(*llvm::cast<ast::CallExpr>(expr));
  case ast::ExprKind::Index:
    return load(*llvm::cast<ast::IndexExpr>(expr), nullptr);
  case ast::ExprKind::Member:
    return member(*llvm::cast<ast::MemberExpr>(expr));
  case ast::ExprKind::Else:
    return elseExpr(*llvm::cast<ast::ElseExpr>(expr));
  case ast::ExprKind::If:
    error(Diag::if_expression, expr->range);
    return Val::error();
  case ast::ExprKind::Range:
    error(Diag::range_expression, expr->range);
    return Val::error();
  case ast::ExprKind::None:
    error(Diag::none_expression, expr->range);
    return Val::error();
  case ast::ExprKind::String:
  case ast::ExprKind::Reduction:
  case ast::ExprKind::New:
  case ast::ExprKind::List:
    error(Diag::no_kernel_expression, expr->range);
    return Val::error();
  }
  return Val::error();
}

Val Elaborator::elseExpr(const ast::ElseExpr &expr) {
  auto *slice = llvm::dyn_cast<ast::IndexExpr>(expr.slice);
  if (slice)
    return load(*slice, expr.otherwise);
  if (!this->expr(expr.slice).isError())
    error(Diag::else_without_slice, expr.slice->range);
  return Val::error();
}

Val Elaborator::member(const ast::MemberExpr &expr) {
  Val base = this->expr(expr.base);
  builder.setLoc(expr.range.begin);
  const std::string &name = expr.member.text;
  if (base.isError())
    return base;
  if (base.isTileIndex() && base.divisor != 1) {
    error(Diag::no_such_member, expr.member.range, "a tile index over a number", name, "it is for slices");
    return Val::error();
  }
  if (base.isScaled() && name == "T")
    return Val::ofScaled(builder.transpose(base.value), builder.transpose(base.scales), !base.isScaledDown);
  if (base.isTileIndex()) {
    ir::Value *index = base.value;
    if (name == "col" || name == "row")
      return Val::ofValue(builder.elements(index, name == "col" ? 0 : 1));
    if (name == "begin")
      return Val::ofValue(builder.begin(index));
    if (name == "end")
      return Val::ofValue(builder.end(index));
    if (name == "index")
      return Val::ofValue(builder.index(index));
    reportUnknown(reporter, "member of a tile index", name, expr.member.range, {"col", "row", "begin", "end", "index"});
    return Val::error();
  }
  if (std::optional<std::string_view> idea = foreignIdea(name)) {
    error(Diag::foreign_idea, expr.member.range, name, *idea);
    return Val::error();
  }
  if (!isOperand(base, expr.base->range))
    return Val::error();
  bool isVector = base.type().kind == ir::Type::Vector;
  if (isVector && (name == "col" || name == "row"))
    return Val::ofValue(name == "col" ? builder.asCol(base.value) : builder.asRow(base.value));
  if (!isVector && name == "T") {
    ir::Value *tile = toTile(base, expr.base->range);
    return tile ? Val::ofValue(builder.transpose(tile)) : Val::error();
  }
  error(Diag::no_such_member, expr.member.range, describe(base), name,
        isVector ? "it has `.col` and `.row`" : "it has `.T`");
  return Val::error();
}

std::optional<int64_t> Elaborator::constantInteger(const ast::Expr *expr, std::string_view what) {
  Val val = this->expr(expr);
  if (val.isInteger())
    return static_cast<int64_t>(val.number);
  if (!val.isError())
    error(Diag::not_constant_integer, expr->range, what, describe(val));
  return std::nullopt;
}

bool Elaborator::isNoneTest(const ast::BinaryExpr &expr) const {
  return (expr.op == ast::BinaryOp::Eq || expr.op == ast::BinaryOp::Ne) &&
         (llvm::isa<ast::NoneExpr>(expr.lhs) || llvm::isa<ast::NoneExpr>(expr.rhs));
}

/// `bias != none`: known when compiling.
Val Elaborator::noneTest(const ast::BinaryExpr &expr) {
  const ast::Expr *side = llvm::isa<ast::NoneExpr>(expr.lhs) ? expr.rhs : expr.lhs;
  Val tensor = this->expr(side);
  if (tensor.isError())
    return tensor;
  if (!tensor.isTensor() || !function->findParam(tensor.tensor)->isOptional) {
    error(Diag::never_none, side->range);
    return Val::error();
  }
  bool isPresent = function->findParam(tensor.tensor)->isPresent;
  return Val::boolean(isPresent == (expr.op == ast::BinaryOp::Ne));
}

std::optional<ElemType> Elaborator::typeOperand(const ast::Expr *expr) const {
  auto *name = llvm::dyn_cast<ast::NameExpr>(expr);
  return name && !findVariable(name->name) ? findType(name->name) : std::nullopt;
}

} // namespace tkc::sema
