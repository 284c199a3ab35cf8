// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/sema/ConstantExpr.h"

#include "llvm/Support/Casting.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace tkc::sema {
namespace {

using ast::BinaryOp;

Val floating(double number) { return Val::constant(ElemType::F32, number); }

/// The type of arithmetic on two constants.
ElemType commonType(const Val &x, const Val &y) {
  ElemType a = x.elem == ElemType::Bool ? ElemType::I32 : arithmeticType(x.elem);
  ElemType b = y.elem == ElemType::Bool ? ElemType::I32 : arithmeticType(y.elem);
  if (a == ElemType::F64 || b == ElemType::F64)
    return ElemType::F64;
  if (isFloat(a) || isFloat(b))
    return ElemType::F32;
  return a == ElemType::I64 || b == ElemType::I64 ? ElemType::I64 : ElemType::I32;
}

double floorMod(double x, double y) { return x - std::floor(x / y) * y; }

std::optional<double> foldBits(BinaryOp op, int64_t x, int64_t y) {
  switch (op) {
  case BinaryOp::Shl:
    return y >= 0 && y < 32 ? std::optional<double>(static_cast<int32_t>(static_cast<uint32_t>(x) << y)) : std::nullopt;
  case BinaryOp::Shr:
    return y >= 0 && y < 32 ? std::optional<double>(static_cast<double>(x >> y)) : std::nullopt;
  case BinaryOp::BitAnd:
    return static_cast<double>(x & y);
  case BinaryOp::BitXor:
    return static_cast<double>(x ^ y);
  case BinaryOp::BitOr:
    return static_cast<double>(x | y);
  case BinaryOp::MatMul:
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::And:
  case BinaryOp::Or:
    return std::nullopt;
  }
  return std::nullopt;
}

struct FloatFunction {
  std::string_view name;
  double (*apply)(double);
};
constexpr std::array<FloatFunction, 14> floatFunctions{{
    {"exp", [](double x) { return std::exp(x); }},
    {"exp2", [](double x) { return std::exp2(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"log2", [](double x) { return std::log2(x); }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"rcp", [](double x) { return 1 / x; }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"abs", [](double x) { return std::abs(x); }},
}};

/// "alignment(a)", of a call with a name as its only argument; else empty.
std::string callText(const ast::CallExpr &call) {
  const auto *callee = llvm::dyn_cast<ast::NameExpr>(call.callee);
  const auto *argument = call.args.size() == 1 ? llvm::dyn_cast<ast::NameExpr>(call.args[0].value) : nullptr;
  return callee && argument ? callee->name + "(" + argument->name + ")" : "";
}

} // namespace

std::optional<Val> builtinConstant(std::string_view name) {
  if (name == "inf")
    return floating(std::numeric_limits<double>::infinity());
  if (name == "PI")
    return floating(std::numbers::pi);
  if (name == "LOG2E")
    return floating(std::numbers::log2e);
  if (name == "LN2")
    return floating(std::numbers::ln2);
  return std::nullopt;
}

std::optional<Val> foldUnary(ast::UnaryOp op, const Val &x) {
  switch (op) {
  case ast::UnaryOp::Neg:
    return Val::constant(x.elem == ElemType::Bool ? ElemType::I32 : arithmeticType(x.elem), -x.number, x.isWeak);
  case ast::UnaryOp::BitNot:
    if (isFloat(x.elem))
      return std::nullopt;
    return x.elem == ElemType::Bool ? Val::boolean(x.number == 0) : Val::integer(~static_cast<int64_t>(x.number));
  case ast::UnaryOp::Not:
    return x.elem == ElemType::Bool ? std::optional(Val::boolean(x.number == 0)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Val> foldBinary(BinaryOp op, const Val &x, const Val &y) {
  ElemType elem = commonType(x, y);
  bool isWeak = x.isWeak && y.isWeak;
  auto number = [&](double value) { return Val::constant(elem, value, isWeak); };
  double a = x.number, b = y.number;
  switch (op) {
  case BinaryOp::Mul:
    return number(a * b);
  case BinaryOp::Div:
    if (isFloat(elem))
      return number(a / b);
    return b == 0 ? std::nullopt : std::optional(number(std::floor(a / b)));
  case BinaryOp::Mod:
    return isFloat(elem) || b == 0 ? std::nullopt : std::optional(number(floorMod(a, b)));
  case BinaryOp::Add:
    return number(a + b);
  case BinaryOp::Sub:
    return number(a - b);
  case BinaryOp::Shl:
  case BinaryOp::Shr:
  case BinaryOp::BitAnd:
  case BinaryOp::BitXor:
  case BinaryOp::BitOr: {
    if (isFloat(elem))
      return std::nullopt;
    std::optional<double> bits = foldBits(op, static_cast<int64_t>(a), static_cast<int64_t>(b));
    bool bothBool = x.elem == ElemType::Bool && y.elem == ElemType::Bool;
    return bits ? std::optional(bothBool ? Val::boolean(*bits != 0) : number(*bits)) : std::nullopt;
  }
  case BinaryOp::Eq:
    return Val::boolean(a == b);
  case BinaryOp::Ne:
    return Val::boolean(a != b);
  case BinaryOp::Lt:
    return Val::boolean(a < b);
  case BinaryOp::Le:
    return Val::boolean(a <= b);
  case BinaryOp::Gt:
    return Val::boolean(a > b);
  case BinaryOp::Ge:
    return Val::boolean(a >= b);
  case BinaryOp::And:
  case BinaryOp::Or:
    if (x.elem != ElemType::Bool || y.elem != ElemType::Bool)
      return std::nullopt;
    return Val::boolean(op == BinaryOp::And ? a != 0 && b != 0 : a != 0 || b != 0);
  case BinaryOp::MatMul:
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Val> foldFunction(std::string_view name, const Val &x) {
  for (const FloatFunction &function : floatFunctions) {
    if (function.name != name)
      continue;
    ElemType elem = x.elem == ElemType::F64 ? ElemType::F64 : ElemType::F32;
    if (name == "abs" && !isFloat(x.elem))
      elem = ElemType::I32;
    // What a function computes is a float of its own precision; what it leaves as it is stays a literal.
    const bool isWeak = x.isWeak && (name == "abs" || name == "floor");
    return Val::constant(elem, function.apply(x.number), isWeak);
  }
  return std::nullopt;
}

std::optional<Val> foldCeilDiv(const Val &x, const Val &y) {
  if (y.number == 0)
    return std::nullopt;
  return Val::constant(commonType(x, y), std::ceil(x.number / y.number), x.isWeak && y.isWeak);
}

Val evalConstant(const ast::Expr *expr, const NameLookup &lookup, const ast::Expr **culprit) {
  auto fail = [&](const ast::Expr *what) {
    if (culprit)
      *culprit = what;
    return Val::error();
  };
  switch (expr->kind) {
  case ast::ExprKind::Number: {
    auto *number = llvm::cast<ast::NumberExpr>(expr);
    return number->isFloat ? floating(number->value) : Val::integer(number->integer);
  }
  case ast::ExprKind::Bool:
    return Val::boolean(llvm::cast<ast::BoolExpr>(expr)->value);
  case ast::ExprKind::Name: {
    const std::string &name = llvm::cast<ast::NameExpr>(expr)->name;
    Val found = lookup(name);
    if (found.isConst())
      return found;
    if (std::optional<Val> builtin = builtinConstant(name))
      return *builtin;
    return fail(expr);
  }
  case ast::ExprKind::Unary: {
    auto *unary = llvm::cast<ast::UnaryExpr>(expr);
    Val operand = evalConstant(unary->operand, lookup, culprit);
    if (!operand.isConst())
      return operand;
    return foldUnary(unary->op, operand).value_or(fail(expr));
  }
  case ast::ExprKind::Binary: {
    auto *binary = llvm::cast<ast::BinaryExpr>(expr);
    Val lhs = evalConstant(binary->lhs, lookup, culprit);
    bool isLogic = binary->op == BinaryOp::And || binary->op == BinaryOp::Or;
    if (isLogic && lhs.isConst() && lhs.elem == ElemType::Bool && (lhs.number != 0) == (binary->op == BinaryOp::Or))
      return lhs;
    Val rhs = evalConstant(binary->rhs, lookup, culprit);
    if (!lhs.isConst() || !rhs.isConst())
      return Val::error();
    return foldBinary(binary->op, lhs, rhs).value_or(fail(expr));
  }
  case ast::ExprKind::Call: {
    auto *call = llvm::cast<ast::CallExpr>(expr);
    auto *callee = llvm::dyn_cast<ast::NameExpr>(call->callee);
    if (!callee || call->args.empty())
      return fail(expr);
    if (Val known = lookup(callText(*call)); known.isConst())
      return known;
    Val result = evalConstant(call->args[0].value, lookup, culprit);
    if (callee->name == "ceildiv" && call->args.size() == 2) {
      const Val divisor = evalConstant(call->args[1].value, lookup, culprit);
      return result.isConst() && divisor.isConst() ? foldCeilDiv(result, divisor).value_or(fail(expr)) : Val::error();
    }
    bool isMin = callee->name == "min", isMax = callee->name == "max";
    for (size_t i = 1; i < call->args.size(); ++i) {
      Val next = evalConstant(call->args[i].value, lookup, culprit);
      if (!result.isConst() || !next.isConst() || (!isMin && !isMax))
        return fail(expr);
      Val type = *foldBinary(BinaryOp::Add, result, next);
      double chosen = isMin ? std::fmin(result.number, next.number) : std::fmax(result.number, next.number);
      result = Val::constant(type.elem, chosen, type.isWeak);
    }
    if (isMin || isMax || !result.isConst())
      return result;
    return foldFunction(callee->name, result).value_or(fail(expr));
  }
  case ast::ExprKind::Error:
  case ast::ExprKind::String:
  case ast::ExprKind::None:
  case ast::ExprKind::Index:
  case ast::ExprKind::Member:
  case ast::ExprKind::Else:
  case ast::ExprKind::If:
  case ast::ExprKind::Reduction:
  case ast::ExprKind::New:
  case ast::ExprKind::List:
  case ast::ExprKind::Range:
    return fail(expr);
  }
  return fail(expr);
}

} // namespace tkc::sema
