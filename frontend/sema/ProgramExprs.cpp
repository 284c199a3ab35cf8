// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions of programs: numbers that are known when compiling or launching, tensors and views of them.
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/Dims.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/ProgramPlanner.h"

#include "llvm/Support/Casting.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace tkc {
namespace sema {

using Arg = ProgramPlanner::Arg;

Val ProgramPlanner::toConst(const ScalarExpr &scalar) {
  return scalar.kind == ScalarExpr::Number ? Val::constant(scalar.elem, scalar.value) : Val::error();
}

static ScalarExpr ofConst(const Val &val) {
  ScalarExpr scalar;
  scalar.elem = val.elem;
  scalar.value = val.number;
  return scalar;
}

static ScalarExpr ofName(const std::string &name, ElemType elem) {
  ScalarExpr scalar;
  scalar.kind = ScalarExpr::Name;
  scalar.elem = elem;
  scalar.name = name;
  return scalar;
}

Arg ProgramPlanner::expr(const ast::Expr *expr) {
  switch (expr->kind) {
  case ast::ExprKind::Error:
    return {};
  case ast::ExprKind::Number: {
    auto *number = llvm::cast<ast::NumberExpr>(expr);
    return ofScalar(
        ofConst(number->isFloat ? Val::constant(ElemType::F32, number->value) : Val::integer(number->integer)));
  }
  case ast::ExprKind::Bool:
    return ofScalar(ofConst(Val::boolean(llvm::cast<ast::BoolExpr>(expr)->value)));
  case ast::ExprKind::None:
    return {Arg::None, {}, {}};
  case ast::ExprKind::Name:
    return name(*llvm::cast<ast::NameExpr>(expr));
  case ast::ExprKind::Unary:
    return unary(*llvm::cast<ast::UnaryExpr>(expr));
  case ast::ExprKind::Binary:
    return binary(*llvm::cast<ast::BinaryExpr>(expr));
  case ast::ExprKind::Call:
    return call(*llvm::cast<ast::CallExpr>(expr));
  case ast::ExprKind::Index:
    return slice(*llvm::cast<ast::IndexExpr>(expr));
  case ast::ExprKind::New:
    reporter.error(Diag::program_new, expr->range);
    return {};
  case ast::ExprKind::String:
  case ast::ExprKind::Member:
  case ast::ExprKind::Else:
  case ast::ExprKind::If:
  case ast::ExprKind::Reduction:
  case ast::ExprKind::List:
  case ast::ExprKind::Range:
    reporter.error(Diag::program_expression, expr->range);
    return {};
  }
  return {};
}

Arg ProgramPlanner::name(const ast::NameExpr &name) {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto found = scope->find(name.name); found != scope->end())
      return found->second;
  if (const ir::Param *param = findParam(name.name)) {
    if (!param->isTensor)
      return ofScalar(ofName(param->name, param->elem));
    TensorView view{param->name, param->elem, param->dims, {}, ir::DimExpr::constant(0)};
    for (size_t i = 0; i + 1 < param->dims.size(); ++i)
      view.strides.push_back(ir::DimExpr::named(strideName(param->name, i)));
    view.strides.push_back(ir::DimExpr::constant(1));
    return ofTensor(std::move(view));
  }
  const std::vector<std::string> &symbols = program.signature.symbols;
  if (std::find(symbols.begin(), symbols.end(), name.name) != symbols.end())
    return isKnown(name.name, name.range) ? ofScalar(ofName(name.name, ElemType::I32)) : Arg();
  if (std::optional<Val> builtin = builtinConstant(name.name))
    return ofScalar(ofConst(*builtin));
  reportUnknown(reporter, "name", name.name, name.range, visibleNames());
  return {};
}

bool ProgramPlanner::isKnown(const std::string &symbol, SourceRange use) {
  if (knownDims.count(symbol) || saysDim(program.signature, symbol, specialization.absent))
    return true;
  reporter.error(Diag::absent_dim, use, symbol, optionalTensorsWith(program.signature, symbol).front());
  return false;
}

std::vector<std::string> ProgramPlanner::visibleNames() const {
  std::vector<std::string> names = program.signature.symbols;
  for (const ir::Param &param : plan->params)
    names.push_back(param.name);
  for (const Scope &scope : scopes)
    for (auto &entry : scope)
      names.push_back(entry.first);
  return names;
}

Arg ProgramPlanner::unary(const ast::UnaryExpr &unary) {
  Arg operand = expr(unary.operand);
  if (operand.kind == Arg::Error)
    return operand;
  if (operand.kind != Arg::Scalar) {
    reporter.error(Diag::program_arithmetic, unary.range);
    return {};
  }
  if (Val value = toConst(operand.scalar); value.isConst())
    if (std::optional<Val> folded = foldUnary(unary.op, value))
      return ofScalar(ofConst(*folded));
  ScalarExpr result;
  result.kind = ScalarExpr::Unary;
  result.elem = operand.scalar.elem;
  result.unaryOp = unary.op;
  result.operands = {operand.scalar};
  return ofScalar(std::move(result));
}

Arg ProgramPlanner::noneTest(const ast::BinaryExpr &binary) {
  const ast::Expr *side = llvm::isa<ast::NoneExpr>(binary.lhs) ? binary.rhs : binary.lhs;
  Arg arg = expr(side);
  if (arg.kind == Arg::Error)
    return arg;
  const ir::Param *param = arg.kind == Arg::Tensor ? findParam(arg.view.tensor) : nullptr;
  if (!param || !param->isOptional) {
    reporter.error(Diag::never_none, side->range);
    return {};
  }
  return ofScalar(ofConst(Val::boolean(param->isPresent == (binary.op == ast::BinaryOp::Ne))));
}

Arg ProgramPlanner::binary(const ast::BinaryExpr &binary) {
  bool isEquality = binary.op == ast::BinaryOp::Eq || binary.op == ast::BinaryOp::Ne;
  if (isEquality && (llvm::isa<ast::NoneExpr>(binary.lhs) || llvm::isa<ast::NoneExpr>(binary.rhs)))
    return noneTest(binary);
  Arg lhs = expr(binary.lhs);
  Val left = lhs.kind == Arg::Scalar ? toConst(lhs.scalar) : Val::error();
  bool isLogic = binary.op == ast::BinaryOp::And || binary.op == ast::BinaryOp::Or;
  if (isLogic && left.isConst() && (left.number != 0) == (binary.op == ast::BinaryOp::Or))
    return lhs;
  Arg rhs = expr(binary.rhs);
  if (lhs.kind == Arg::Error || rhs.kind == Arg::Error)
    return {};
  if (lhs.kind != Arg::Scalar || rhs.kind != Arg::Scalar || binary.op == ast::BinaryOp::MatMul) {
    reporter.error(Diag::program_arithmetic, binary.range);
    return {};
  }
  Val right = toConst(rhs.scalar);
  // Only the type is of interest where a value is not known yet; 1 is a value that every operator takes.
  std::optional<Val> folded = foldBinary(binary.op, left.isConst() ? left : Val::constant(lhs.scalar.elem, 1),
                                         right.isConst() ? right : Val::constant(rhs.scalar.elem, 1));
  if (!folded) {
    reporter.error(Diag::program_arithmetic, binary.range);
    return {};
  }
  if (left.isConst() && right.isConst())
    return ofScalar(ofConst(*folded));
  ScalarExpr result;
  result.kind = ScalarExpr::Binary;
  result.elem = folded->elem;
  result.binaryOp = binary.op;
  result.operands = {lhs.scalar, rhs.scalar};
  return ofScalar(std::move(result));
}

Arg ProgramPlanner::call(const ast::CallExpr &call) {
  if (auto *method = llvm::dyn_cast<ast::MemberExpr>(call.callee))
    return this->method(call, *method);
  auto *callee = llvm::dyn_cast<ast::NameExpr>(call.callee);
  bool isMinMax = callee && (callee->name == "min" || callee->name == "max");
  bool isFunction = callee && foldFunction(callee->name, Val::integer(1)).has_value();
  size_t count = isMinMax ? 2 : 1;
  if (!isMinMax && !isFunction) {
    bool isKernel = callee && module.findKernel(callee->name);
    reporter.error(isKernel ? Diag::program_launch_value : Diag::program_expression, call.range);
    return {};
  }
  if (call.args.size() != count) {
    reporter.error(Diag::number_of_arguments, call.range, callee->name, count, call.args.size());
    return {};
  }
  ScalarExpr result;
  result.kind = ScalarExpr::Call;
  result.name = callee->name;
  result.elem = isMinMax ? ElemType::I32 : ElemType::F32;
  bool isConstant = true;
  for (const ast::Argument &arg : call.args) {
    Arg value = expr(arg.value);
    if (value.kind != Arg::Scalar) {
      if (value.kind != Arg::Error)
        reporter.error(Diag::program_arithmetic, arg.value->range);
      return {};
    }
    isConstant = isConstant && value.scalar.kind == ScalarExpr::Number;
    if (isFloat(value.scalar.elem))
      result.elem = ElemType::F32;
    result.operands.push_back(value.scalar);
  }
  if (!isConstant)
    return ofScalar(std::move(result));
  ScalarExpr folded;
  folded.elem = result.elem;
  folded.value = evaluateScalar(result, {}).value_or(0);
  return ofScalar(std::move(folded));
}

std::optional<ir::DimExpr> ProgramPlanner::toDim(const ScalarExpr &scalar) {
  if (scalar.elem != ElemType::I32)
    return std::nullopt;
  if (scalar.kind == ScalarExpr::Number)
    return ir::DimExpr::constant(static_cast<int64_t>(scalar.value));
  if (scalar.kind == ScalarExpr::Name)
    return ir::DimExpr::named(scalar.name);
  if (scalar.kind == ScalarExpr::Unary && scalar.unaryOp == ast::UnaryOp::Neg) {
    std::optional<ir::DimExpr> operand = toDim(scalar.operands[0]);
    return operand ? std::optional(ir::DimExpr::binary(ir::DimExpr::Sub, ir::DimExpr::constant(0), *operand))
                   : std::nullopt;
  }
  std::optional<ir::DimExpr::Kind> kind;
  if (scalar.kind == ScalarExpr::Binary)
    kind = dimKind(scalar.binaryOp);
  if (!kind)
    return std::nullopt;
  std::optional<ir::DimExpr> lhs = toDim(scalar.operands[0]), rhs = toDim(scalar.operands[1]);
  return lhs && rhs ? std::optional(ir::DimExpr::binary(*kind, *lhs, *rhs)) : std::nullopt;
}

std::optional<ir::DimExpr> ProgramPlanner::dim(const ast::Expr *expr) {
  Arg arg = this->expr(expr);
  if (arg.kind == Arg::Error)
    return std::nullopt;
  std::optional<ir::DimExpr> result = arg.kind == Arg::Scalar ? toDim(arg.scalar) : std::nullopt;
  if (!result)
    reporter.error(Diag::program_dim, expr->range);
  return result ? std::optional(substitute(*result, {})) : std::nullopt;
}

} // namespace sema

// ---- values and text -----------------------------------------------------------------------------------------------

std::optional<int64_t> evaluateDim(const ir::DimExpr &dim, const std::map<std::string, int64_t> &names) {
  return sema::evaluate(dim, names);
}

/// As a Const, or Error.
static sema::Val valueOf(const ScalarExpr &expr, const std::map<std::string, double> &names) {
  using sema::Val;
  std::vector<Val> operands;
  for (const ScalarExpr &operand : expr.operands) {
    operands.push_back(valueOf(operand, names));
    if (operands.back().isError())
      return Val::error();
  }
  switch (expr.kind) {
  case ScalarExpr::Number:
    return Val::constant(expr.elem, expr.value);
  case ScalarExpr::Name: {
    auto found = names.find(expr.name);
    return found == names.end() ? Val::error() : Val::constant(expr.elem, found->second);
  }
  case ScalarExpr::Unary:
    return sema::foldUnary(expr.unaryOp, operands[0]).value_or(Val::error());
  case ScalarExpr::Binary:
    return sema::foldBinary(expr.binaryOp, operands[0], operands[1]).value_or(Val::error());
  case ScalarExpr::Call:
    if (expr.name == "min")
      return Val::constant(expr.elem, std::fmin(operands[0].number, operands[1].number));
    if (expr.name == "max")
      return Val::constant(expr.elem, std::fmax(operands[0].number, operands[1].number));
    return sema::foldFunction(expr.name, operands[0]).value_or(Val::error());
  }
  return Val::error();
}

std::optional<double> evaluateScalar(const ScalarExpr &expr, const std::map<std::string, double> &names) {
  sema::Val value = valueOf(expr, names);
  return value.isConst() ? std::optional(value.number) : std::nullopt;
}

std::string ScalarExpr::str() const {
  switch (kind) {
  case Number:
    return elem == ElemType::Bool ? (value != 0 ? "true" : "false") : fmt::format("{}", value);
  case Name:
    return name;
  case Unary:
    return fmt::format("{}{}", spelling(unaryOp), operands[0].str());
  case Binary:
    return fmt::format("({} {} {})", operands[0].str(), spelling(binaryOp), operands[1].str());
  case Call: {
    std::string args;
    for (const ScalarExpr &operand : operands)
      args += (args.empty() ? "" : ", ") + operand.str();
    return fmt::format("{}({})", name, args);
  }
  }
  return {};
}

} // namespace tkc
