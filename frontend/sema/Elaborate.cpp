// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/Dims.h"
#include "frontend/sema/Elaborator.h"

#include "llvm/Support/Casting.h"

#include <algorithm>
#include <cmath>

namespace tkc {
namespace sema {

Elaborator::Elaborator(const Module &module, const KernelInfo &kernel, const Specialization &specialization,
                       const std::map<std::string, int64_t> &tunes, const std::vector<const ast::Expr *> &promised,
                       DiagnosticEngine &diagnostics)
    : module(module), kernel(kernel), specialization(specialization), tunes(tunes), promised(promised),
      reporter(diagnostics), function(std::make_unique<ir::Function>()), builder(*function, &function->body) {}

std::unique_ptr<ir::Function> Elaborator::run() {
  function->kernel = kernel.signature.name;
  function->doc = kernel.signature.doc;
  function->loc = kernel.signature.loc;
  function->typeArgs = specialization.typeArgs;
  scopes.emplace_back();
  addConstants();
  addParams();
  addFacts();
  scopes.emplace_back();
  for (const ast::Stmt *stmt : kernel.decl->body->stmts)
    statement(stmt);
  if (!parallelSeen && !reporter.failed())
    error(Diag::no_parallel, kernel.decl->name.range, kernel.signature.name);
  if (!reporter.failed())
    checkWrites();
  return reporter.failed() ? nullptr : std::move(function);
}

void Elaborator::addConstants() {
  for (auto &[name, value] : specialization.constants) {
    function->constants.emplace_back(name, value);
    knownDims[name] = value;
    bool isBool = specialization.bools.count(name) != 0;
    define({name, kernel.decl->name.range}, isBool ? Val::boolean(value != 0) : Val::integer(value));
  }
}

namespace {

bool isNamed(const ast::Expr *expr, const std::string &name) {
  auto *named = llvm::dyn_cast<ast::NameExpr>(expr);
  return named && named->name == name;
}

/// Of `name > 3`, `3 < name`, `name >= 4`, `4 <= name`: 3; nullopt where the condition says nothing of the kind.
std::optional<int64_t> numberBelow(const std::string &name, const ast::Expr *condition) {
  auto *comparison = llvm::dyn_cast<ast::BinaryExpr>(condition);
  const bool isTurned = comparison && isNamed(comparison->rhs, name);
  if (!comparison || (!isTurned && !isNamed(comparison->lhs, name)))
    return std::nullopt;
  const bool isStrict = comparison->op == (isTurned ? ast::BinaryOp::Lt : ast::BinaryOp::Gt);
  auto *number = llvm::dyn_cast<ast::NumberExpr>(isTurned ? comparison->lhs : comparison->rhs);
  if (!number || (!isStrict && comparison->op != (isTurned ? ast::BinaryOp::Le : ast::BinaryOp::Ge)))
    return std::nullopt;
  const double below = isStrict ? std::floor(number->value) : std::ceil(number->value) - 1;
  return below >= 0 && below < 2147483648.0 ? std::optional(static_cast<int64_t>(below)) : std::nullopt;
}

/// The largest number of those that conditions say to be below `name`.
std::optional<int64_t> numberBelow(const std::string &name, const std::vector<const ast::Expr *> &conditions) {
  std::optional<int64_t> largest;
  for (const ast::Expr *condition : conditions)
    largest = std::max(largest, numberBelow(name, condition)); // none is less than all
  return largest;
}

} // namespace

void Elaborator::addParams() {
  const Signature &signature = kernel.signature;
  for (const ir::Param &declared : signature.params) {
    ir::Param param = declared;
    for (ir::DimExpr &dim : param.dims) {
      dim = substitute(dim, knownDims);
      if (dim.isConst() && dim.value < 1)
        error(Diag::dim_not_positive, {param.loc, param.loc}, param.name, dim.value);
    }
    if (auto typeParam = signature.typeParamOf.find(param.name); typeParam != signature.typeParamOf.end())
      for (auto &[name, type] : specialization.typeArgs)
        if (name == typeParam->second)
          param.elem = type;
    // No scalar is less than a byte, and rows are whole groups.
    if (isPacked(param.elem) && !param.isTensor)
      error(Diag::packed_scalar, {param.loc, param.loc}, spelling(param.elem));
    else if (isPacked(param.elem) && param.dims.back().isConst() &&
             param.dims.back().value % groupElements(param.elem) != 0)
      error(Diag::packed_row, {param.loc, param.loc}, spelling(param.elem), groupElements(param.elem),
            param.dims.back().value);
    param.isPresent = specialization.absent.count(param.name) == 0;
    if (param.isPresent)
      for (const std::string &symbol : symbolsIn(param.dims))
        isKnown(symbol, {param.loc, param.loc});
    if (!param.isTensor) {
      bounds.addScalar(param.name);
      param.above = std::max(numberBelow(param.name, signature.conditions), numberBelow(param.name, promised));
    }
    function->params.push_back(param);
  }
}

/// What `where` promises as `H % G == 0`.
void Elaborator::addMultiple(const ast::BinaryExpr &comparison, const ir::DimExpr &lhs, const ir::DimExpr &rhs) {
  if (comparison.op == ast::BinaryOp::Eq && lhs.kind == ir::DimExpr::Mod && rhs.isConst() && rhs.value == 0)
    function->multiples.emplace_back(*lhs.lhs, *lhs.rhs);
}

/// What `where` promises about the symbols, for range analysis.
void Elaborator::addFacts() {
  for (const ast::Expr *condition : kernel.signature.conditions) {
    auto *comparison = llvm::dyn_cast<ast::BinaryExpr>(condition);
    if (!comparison)
      continue;
    std::optional<ir::DimExpr> lhs = tryDim(comparison->lhs), rhs = tryDim(comparison->rhs);
    if (!lhs || !rhs)
      continue;
    addMultiple(*comparison, substitute(*lhs, knownDims), substitute(*rhs, knownDims));
    Linear left = bounds.linear(substitute(*lhs, knownDims)), right = bounds.linear(substitute(*rhs, knownDims));
    Linear rightMinusLeft = right, leftMinusRight = left;
    rightMinusLeft.add(left, -1);
    leftMinusRight.add(right, -1);
    switch (comparison->op) {
    case ast::BinaryOp::Le:
      bounds.addFact(rightMinusLeft);
      break;
    case ast::BinaryOp::Lt:
      bounds.addFact(rightMinusLeft.add(Linear::number(-1)));
      break;
    case ast::BinaryOp::Ge:
      bounds.addFact(leftMinusRight);
      break;
    case ast::BinaryOp::Gt:
      bounds.addFact(leftMinusRight.add(Linear::number(-1)));
      break;
    case ast::BinaryOp::Eq:
      bounds.addFact(rightMinusLeft);
      bounds.addFact(leftMinusRight);
      break;
    case ast::BinaryOp::MatMul:
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
    case ast::BinaryOp::Ne:
    case ast::BinaryOp::And:
    case ast::BinaryOp::Or:
      break;
    }
  }
}

} // namespace sema

std::unique_ptr<ir::Function> elaborate(const Module &module, const KernelInfo &kernel,
                                        const Specialization &specialization,
                                        const std::map<std::string, int64_t> &tunes,
                                        const std::vector<const ast::Expr *> &promised, DiagnosticEngine &diagnostics) {
  if (!kernel.signature.isSound)
    return nullptr;
  return sema::Elaborator(module, kernel, specialization, tunes, promised, diagnostics).run();
}

} // namespace tkc
