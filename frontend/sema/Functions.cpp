// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The user's functions. A `fn` is elaborated where it is called, with its parameters bound to the arguments; it may
// return several values. An `extern` one becomes an element-wise op.
#include "frontend/sema/Elaborator.h"

#include "llvm/Support/Casting.h"

#include <algorithm>

namespace tkc::sema {

constexpr size_t maxInliningDepth = 64;

static bool hasReturn(const ast::Stmt *stmt) {
  switch (stmt->kind) {
  case ast::StmtKind::Return:
    return true;
  case ast::StmtKind::Block:
    return std::any_of(llvm::cast<ast::BlockStmt>(stmt)->stmts.begin(), llvm::cast<ast::BlockStmt>(stmt)->stmts.end(),
                       hasReturn);
  case ast::StmtKind::For:
    return hasReturn(llvm::cast<ast::ForStmt>(stmt)->body);
  case ast::StmtKind::If: {
    auto *branch = llvm::cast<ast::IfStmt>(stmt);
    return hasReturn(branch->thenBlock) || (branch->elseStmt && hasReturn(branch->elseStmt));
  }
  case ast::StmtKind::Error: // may have been one
    return true;
  case ast::StmtKind::Tune:
  case ast::StmtKind::Parallel:
  case ast::StmtKind::Let:
  case ast::StmtKind::Var:
  case ast::StmtKind::Assign:
  case ast::StmtKind::Expr:
    return false;
  }
  return false;
}

/// Far above what a kernel needs; each call is a copy of the function.
constexpr size_t maxInlined = 10'000;

Val Elaborator::callFunction(const ast::FnDecl &fn, const ast::CallExpr &expr) {
  bool isRecursive =
      std::any_of(inlining.begin(), inlining.end(), [&](const Inlining &frame) { return frame.fn == &fn; });
  if (isRecursive || inlining.size() == maxInliningDepth) {
    error(Diag::recursive_function, expr.range, fn.name.text);
    return Val::error();
  }
  if (++numInlined > maxInlined) {
    if (numInlined == maxInlined + 1)
      error(Diag::too_many_calls, expr.range, maxInlined);
    return Val::error();
  }
  std::vector<std::string_view> params;
  for (const ast::Identifier &param : fn.params)
    params.push_back(param.text);
  std::optional<std::vector<const ast::Expr *>> args = placeArgs(expr, params, fn.name.text);
  if (!args)
    return Val::error();
  std::vector<Val> vals;
  for (const ast::Expr *arg : *args)
    vals.push_back(this->expr(arg));

  std::vector<Scope> callerScopes = std::move(scopes);
  scopes.clear();
  scopes.emplace_back();
  for (size_t i = 0; i < vals.size(); ++i)
    define(fn.params[i], vals[i]);
  inlining.push_back({&fn, expr.range, runtimeDepth, std::nullopt});
  block(*fn.body);
  std::optional<Val> result = std::move(inlining.back().result);
  inlining.pop_back();
  scopes = std::move(callerScopes);
  if (!result && !hasReturn(fn.body))
    error(Diag::no_return, fn.name.range, fn.name.text);
  return result.value_or(Val::error());
}

Val Elaborator::callExtern(const ast::ExternFnDecl &fn, const ast::CallExpr &expr) {
  std::vector<std::string_view> params;
  for (const ast::Param &param : fn.params)
    params.push_back(param.name.text);
  std::optional<std::vector<const ast::Expr *>> args = placeArgs(expr, params, fn.name.text);
  if (!args)
    return Val::error();
  std::vector<ir::Value *> values;
  ir::Type shape = ir::Type::scalar(ElemType::F32);
  for (size_t i = 0; i < args->size(); ++i) {
    const ast::Expr *arg = (*args)[i];
    std::optional<ElemType> elem = parseElemType(fn.params[i].type.text);
    Val val = this->expr(arg);
    ir::Value *value = elem ? toElem(val, *elem, arg->range) : nullptr;
    if (!value)
      return Val::error();
    if (!checkBroadcast(shape, value->type, fn.name.text, {val, val, expr.range, expr.range, arg->range}))
      return Val::error();
    shape = *ir::broadcast(shape, value->type);
    values.push_back(value);
  }
  std::optional<ElemType> result = parseElemType(fn.resultType.text);
  builder.setLoc(expr.range.begin);
  return result ? Val::ofValue(builder.externCall(fn.name.text, values, *result)) : Val::error();
}

} // namespace tkc::sema
