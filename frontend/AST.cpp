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

bool mentions(const Expr &condition, const std::string &name) {
  if (const auto *named = llvm::dyn_cast<NameExpr>(&condition))
    return named->name == name;
  if (const auto *unary = llvm::dyn_cast<UnaryExpr>(&condition))
    return mentions(*unary->operand, name);
  if (const auto *call = llvm::dyn_cast<CallExpr>(&condition))
    return std::any_of(call->args.begin(), call->args.end(),
                       [&](const Argument &argument) { return mentions(*argument.value, name); });
  const auto *binary = llvm::dyn_cast<BinaryExpr>(&condition);
  return binary && (mentions(*binary->lhs, name) || mentions(*binary->rhs, name));
}

} // namespace tkc::ast
