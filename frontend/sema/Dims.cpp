// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/sema/Dims.h"
#include "frontend/sema/Report.h"

#include "llvm/Support/Casting.h"

#include <algorithm>

namespace tkc::sema {
namespace {

using ir::DimExpr;

int64_t floorDiv(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a % b < 0) != (b < 0))); }

std::optional<int64_t> apply(DimExpr::Kind kind, int64_t a, int64_t b) {
  switch (kind) {
  case DimExpr::Const:
  case DimExpr::Symbol:
    return std::nullopt;
  case DimExpr::Add:
    return a + b;
  case DimExpr::Sub:
    return a - b;
  case DimExpr::Mul:
    return a * b;
  case DimExpr::Div:
    return b == 0 ? std::nullopt : std::optional(floorDiv(a, b));
  case DimExpr::Mod:
    return b == 0 ? std::nullopt : std::optional(a - floorDiv(a, b) * b);
  }
  return std::nullopt;
}

} // namespace

std::optional<DimExpr::Kind> dimKind(ast::BinaryOp op) {
  switch (op) {
  case ast::BinaryOp::Add:
    return DimExpr::Add;
  case ast::BinaryOp::Sub:
    return DimExpr::Sub;
  case ast::BinaryOp::Mul:
    return DimExpr::Mul;
  case ast::BinaryOp::Div:
    return DimExpr::Div;
  case ast::BinaryOp::Mod:
    return DimExpr::Mod;
  case ast::BinaryOp::MatMul:
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
  case ast::BinaryOp::And:
  case ast::BinaryOp::Or:
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<DimExpr> tryDim(const ast::Expr *expr, const ast::Expr **culprit) {
  if (auto *number = llvm::dyn_cast<ast::NumberExpr>(expr); number && !number->isFloat)
    return DimExpr::constant(number->integer);
  if (auto *name = llvm::dyn_cast<ast::NameExpr>(expr))
    return DimExpr::named(name->name);
  if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr)) {
    if (std::optional<DimExpr::Kind> kind = dimKind(binary->op)) {
      std::optional<DimExpr> lhs = tryDim(binary->lhs, culprit);
      std::optional<DimExpr> rhs = lhs ? tryDim(binary->rhs, culprit) : std::nullopt;
      return lhs && rhs ? std::optional(substitute(DimExpr::binary(*kind, *lhs, *rhs), {})) : std::nullopt;
    }
  }
  if (culprit)
    *culprit = expr;
  return std::nullopt;
}

std::optional<DimExpr> parseDim(const ast::Expr *expr, Reporter &reporter) {
  const ast::Expr *culprit = nullptr;
  std::optional<DimExpr> dim = tryDim(expr, &culprit);
  if (!dim && !llvm::isa<ast::ErrorExpr>(culprit))
    reporter.error(Diag::bad_dim, culprit->range);
  return dim;
}

DimExpr replaced(const DimExpr &dim, const std::map<std::string, DimExpr> &symbols) {
  switch (dim.kind) {
  case DimExpr::Const:
    return dim;
  case DimExpr::Symbol: {
    auto found = symbols.find(dim.symbol);
    return found == symbols.end() ? dim : found->second;
  }
  case DimExpr::Add:
  case DimExpr::Sub:
  case DimExpr::Mul:
  case DimExpr::Div:
  case DimExpr::Mod:
    break;
  }
  DimExpr lhs = replaced(*dim.lhs, symbols), rhs = replaced(*dim.rhs, symbols);
  if (lhs.isConst() && rhs.isConst())
    if (std::optional<int64_t> value = apply(dim.kind, lhs.value, rhs.value))
      return DimExpr::constant(*value);
  return DimExpr::binary(dim.kind, std::move(lhs), std::move(rhs));
}

DimExpr substitute(const DimExpr &dim, const std::map<std::string, int64_t> &known) {
  std::map<std::string, DimExpr> symbols;
  for (const auto &[name, value] : known)
    symbols.emplace(name, DimExpr::constant(value));
  return replaced(dim, symbols);
}

std::optional<int64_t> evaluate(const DimExpr &dim, const std::map<std::string, int64_t> &known) {
  DimExpr result = substitute(dim, known);
  return result.isConst() ? std::optional(result.value) : std::nullopt;
}

void collectSymbols(const DimExpr &dim, std::vector<std::string> &symbols) {
  if (dim.kind == DimExpr::Symbol && std::find(symbols.begin(), symbols.end(), dim.symbol) == symbols.end())
    symbols.push_back(dim.symbol);
  if (dim.lhs)
    collectSymbols(*dim.lhs, symbols);
  if (dim.rhs)
    collectSymbols(*dim.rhs, symbols);
}

std::vector<std::string> symbolsIn(const std::vector<DimExpr> &dims) {
  std::vector<std::string> symbols;
  for (const DimExpr &dim : dims)
    collectSymbols(dim, symbols);
  return symbols;
}

std::optional<std::string> boundSymbol(const DimExpr &dim) {
  if (dim.kind == DimExpr::Symbol)
    return dim.symbol;
  bool isSum = dim.kind == DimExpr::Add, isDifference = dim.kind == DimExpr::Sub;
  if ((isSum || isDifference) && dim.rhs->isConst())
    return boundSymbol(*dim.lhs);
  if (isSum && dim.lhs->isConst())
    return boundSymbol(*dim.rhs);
  return std::nullopt;
}

} // namespace tkc::sema
