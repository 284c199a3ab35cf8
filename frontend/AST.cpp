// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/AST.h"

#include <algorithm>
#include <llvm/Support/Casting.h>

namespace tkc::ast {

std::string_view spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::MatMul:
    return "@";
  case BinaryOp::Mul:
    return "*";
  case BinaryOp::Div:
    return "/";
  case BinaryOp::Mod:
    return "%";
  case BinaryOp::Add:
    return "+";
  case BinaryOp::Sub:
    return "-";
  case BinaryOp::Shl:
    return "<<";
  case BinaryOp::Shr:
    return ">>";
  case BinaryOp::BitAnd:
    return "&";
  case BinaryOp::BitXor:
    return "^";
  case BinaryOp::BitOr:
    return "|";
  case BinaryOp::Eq:
    return "==";
  case BinaryOp::Ne:
    return "!=";
  case BinaryOp::Lt:
    return "<";
  case BinaryOp::Le:
    return "<=";
  case BinaryOp::Gt:
    return ">";
  case BinaryOp::Ge:
    return ">=";
  case BinaryOp::And:
    return "and";
  case BinaryOp::Or:
    return "or";
  }
  __builtin_unreachable();
}

std::string_view spelling(UnaryOp op) {
  switch (op) {
  case UnaryOp::Neg:
    return "-";
  case UnaryOp::BitNot:
    return "~";
  case UnaryOp::Not:
    return "not";
  }
  __builtin_unreachable();
}

std::string_view spelling(AssignOp op) {
  switch (op) {
  case AssignOp::Set:
    return "=";
  case AssignOp::Add:
    return "+=";
  case AssignOp::Sub:
    return "-=";
  case AssignOp::Mul:
    return "*=";
  case AssignOp::Div:
    return "/=";
  case AssignOp::Max:
    return "max=";
  case AssignOp::Min:
    return "min=";
  }
  __builtin_unreachable();
}

std::vector<const Expr *> operandsOf(const Expr &expr) {
  if (const auto *unary = llvm::dyn_cast<UnaryExpr>(&expr))
    return {unary->operand};
  if (const auto *binary = llvm::dyn_cast<BinaryExpr>(&expr))
    return {binary->lhs, binary->rhs};
  std::vector<const Expr *> operands;
  if (const auto *call = llvm::dyn_cast<CallExpr>(&expr))
    for (const Argument &argument : call->args)
      operands.push_back(argument.value);
  return operands;
}

bool mentions(const Expr &condition, const std::string &name) {
  if (const auto *named = llvm::dyn_cast<NameExpr>(&condition))
    return named->name == name;
  const std::vector<const Expr *> operands = operandsOf(condition);
  return std::any_of(operands.begin(), operands.end(), [&](const Expr *operand) { return mentions(*operand, name); });
}

} // namespace tkc::ast
