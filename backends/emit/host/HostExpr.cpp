// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/host/HostExpr.h"

#include "backends/emit/kernel/Types.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <llvm/Support/Casting.h>

namespace tkc::cuda {
namespace {

const char *spellingOf(ast::BinaryOp op) {
  switch (op) {
  case ast::BinaryOp::And:
    return "&&";
  case ast::BinaryOp::Or:
    return "||";
  case ast::BinaryOp::MatMul:
    return "";
  case ast::BinaryOp::Mul:
  case ast::BinaryOp::Div:
  case ast::BinaryOp::Mod:
  case ast::BinaryOp::Add:
  case ast::BinaryOp::Sub:
  case ast::BinaryOp::Shl:
  case ast::BinaryOp::Shr:
  case ast::BinaryOp::BitAnd:
  case ast::BinaryOp::BitXor:
  case ast::BinaryOp::BitOr:
  case ast::BinaryOp::Eq:
  case ast::BinaryOp::Ne:
  case ast::BinaryOp::Lt:
  case ast::BinaryOp::Le:
  case ast::BinaryOp::Gt:
  case ast::BinaryOp::Ge:
    return ast::spelling(op).data();
  }
  return "";
}

const plan::Stmt *definition(const plan::Plan &plan, const std::string &var) {
  for (const plan::Stmt &stmt : plan.prelude)
    if (stmt.dest == var)
      return &stmt;
  return nullptr;
}

const char *infixOf(ir::OpKind op) {
  switch (op) {
  case ir::OpKind::Add:
    return "+";
  case ir::OpKind::Sub:
    return "-";
  case ir::OpKind::Mul:
    return "*";
  case ir::OpKind::Div:
    return "/";
  case ir::OpKind::Mod:
    return "%";
  default: // the prelude holds dims and arithmetic on them; for the rest the caller asks the device
    return nullptr;
  }
}

/// `/` and `%` floor, and give 0 where the divisor is 0, as a dim may be: the runtime has functions for them, but where
/// both sides cannot be negative and the divisor is a number C++ means the same.
std::string binaryText(const char *infix, const std::string &lhs, const std::string &rhs, bool isPlain) {
  const bool divides = infix[0] == '/' || infix[0] == '%';
  if (divides && !isPlain)
    return fmt::format("tk::host::{}({}, {})", infix[0] == '/' ? "divide" : "modulo", lhs, rhs);
  return fmt::format("({} {} {})", lhs, infix, rhs);
}

std::string nameText(const std::string &name, const HostNames &names) {
  const auto found = names.find(name);
  return found == names.end() ? identifier(name) : found->second;
}

/// `alignment(a)` is among the names; `min`, `max` and `ceildiv` are functions of two numbers.
std::string callText(const ast::CallExpr &call, const HostNames &names) {
  if (const std::string quantity = askedBy(call); !quantity.empty())
    return names.at(quantity);
  const std::string &callee = llvm::cast<ast::NameExpr>(call.callee)->name;
  std::string text = hostExpr(*call.args[0].value, names);
  for (size_t i = 1; i < call.args.size(); ++i)
    text = fmt::format("tk::host::{}({}, {})", callee, text, hostExpr(*call.args[i].value, names));
  return text;
}

} // namespace

std::string askedBy(const ast::CallExpr &call) {
  if (llvm::cast<ast::NameExpr>(call.callee)->name != "alignment")
    return "";
  return fmt::format("alignment({})", llvm::cast<ast::NameExpr>(call.args[0].value)->name);
}

std::string hostNumber(double value, ElemType elem) {
  if (!isFloat(elem))
    return std::to_string(static_cast<int64_t>(value));
  if (std::isnan(value))
    return "__builtin_nanf(\"\")";
  if (std::isinf(value))
    return value < 0 ? "-__builtin_huge_valf()" : "__builtin_huge_valf()";
  return elem == ElemType::F64 ? fmt::format("{:#}", value) : fmt::format("{:#}f", value);
}

std::string hostExpr(const ir::DimExpr &dim, const HostNames &names) {
  if (dim.kind == ir::DimExpr::Const)
    return std::to_string(dim.value);
  if (dim.kind == ir::DimExpr::Symbol)
    return nameText(dim.symbol, names);
  const bool isPlain = dim.lhs->kind == ir::DimExpr::Symbol && dim.rhs->isConst() && dim.rhs->value > 0;
  return binaryText(ir::spelling(dim.kind).data(), hostExpr(*dim.lhs, names), hostExpr(*dim.rhs, names), isPlain);
}

std::string hostExpr(const ast::Expr &expr, const HostNames &names) {
  if (const auto *number = llvm::dyn_cast<ast::NumberExpr>(&expr))
    return number->isFloat ? fmt::format("{}", number->value) : std::to_string(number->integer);
  if (const auto *boolean = llvm::dyn_cast<ast::BoolExpr>(&expr))
    return boolean->value ? "true" : "false";
  if (const auto *name = llvm::dyn_cast<ast::NameExpr>(&expr))
    return nameText(name->name, names);
  if (const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(&expr))
    return fmt::format("{}({})",
                       unary->op == ast::UnaryOp::Neg   ? "-"
                       : unary->op == ast::UnaryOp::Not ? "!"
                                                        : "~",
                       hostExpr(*unary->operand, names));
  if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr))
    return binaryText(spellingOf(binary->op), hostExpr(*binary->lhs, names), hostExpr(*binary->rhs, names), false);
  if (const auto *call = llvm::dyn_cast<ast::CallExpr>(&expr))
    return callText(*call, names);
  return "true"; // sema lets nothing else stand in `where`
}

std::string hostExpr(const ScalarExpr &expr) {
  std::vector<std::string> operands;
  for (const ScalarExpr &operand : expr.operands)
    operands.push_back(hostExpr(operand));
  switch (expr.kind) {
  case ScalarExpr::Number:
    return hostNumber(expr.value, expr.elem);
  case ScalarExpr::Name:
    return identifier(expr.name);
  case ScalarExpr::Unary:
    return fmt::format("({}{})",
                       expr.unaryOp == ast::UnaryOp::Neg   ? "-"
                       : expr.unaryOp == ast::UnaryOp::Not ? "!"
                                                           : "~",
                       operands[0]);
  case ScalarExpr::Binary:
    return binaryText(spellingOf(expr.binaryOp), operands[0], operands[1], false);
  case ScalarExpr::Call:
    return fmt::format("tk::host::{}({})", expr.name, fmt::join(operands, ", "));
  }
  return "";
}

std::string hostExpr(const plan::Plan &plan, const std::string &var, const HostNames &names) {
  const plan::Stmt *stmt = definition(plan, var);
  if (!stmt)
    return "";
  std::vector<std::string> operands;
  for (const std::string &operand : stmt->operands) {
    operands.push_back(hostExpr(plan, operand, names));
    if (operands.back().empty())
      return "";
  }
  if (stmt->kind == plan::StmtKind::Move)
    return operands[0];
  if (stmt->kind != plan::StmtKind::Compute)
    return "";
  if (stmt->op == ir::OpKind::Const)
    return fmt::format("{}", static_cast<int64_t>(stmt->constant));
  if (stmt->op == ir::OpKind::Dim) {
    auto found = names.find(stmt->name);
    return found == names.end() ? identifier(stmt->name) : found->second;
  }
  if (stmt->op == ir::OpKind::Param)
    return identifier(stmt->name);
  if (stmt->op == ir::OpKind::Min || stmt->op == ir::OpKind::Max)
    return fmt::format("({0} {2} {1} ? {0} : {1})", operands[0], operands[1], stmt->op == ir::OpKind::Min ? "<" : ">");
  const char *infix = infixOf(stmt->op);
  return infix ? binaryText(infix, operands[0], operands[1], false) : "";
}

} // namespace tkc::cuda
