// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/sema/FunctionExpander.h"

#include "frontend/sema/PlaceArgs.h"

#include "llvm/Support/Casting.h"

#include <algorithm>

namespace tkc::sema {
namespace {

/// Of an expression. Functions that call others twice grow fast.
constexpr size_t maxNodes = 10'000;

/// How many nodes it has, or any number above `maxNodes` where it has more than so many.
size_t countNodes(const ast::Expr &expr, size_t before = 0) {
  size_t count = before + 1;
  for (const ast::Expr *operand : ast::operandsOf(expr))
    count = count > maxNodes ? count : countNodes(*operand, count);
  return count;
}

} // namespace

ast::Expr *FunctionExpander::expand(ast::Expr *expr) {
  if (!expr)
    return nullptr;
  const auto [found, isNew] = known.try_emplace(expr);
  if (!isNew)
    return found->second;
  found->second = expand(expr, {});
  if (found->second != expr && countNodes(*found->second) > maxNodes) {
    reporter.error(Diag::when_too_long, expr->range);
    found->second = failed(*expr);
  }
  return found->second;
}

ast::Expr *FunctionExpander::expand(ast::Expr *expr, const Bindings &bindings) {
  if (auto *name = llvm::dyn_cast<ast::NameExpr>(expr)) {
    const auto bound = bindings.find(name->name);
    return bound == bindings.end() ? expr : bound->second;
  }
  if (auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr)) {
    ast::Expr *operand = expand(unary->operand, bindings);
    if (operand == unary->operand)
      return expr;
    auto *copy = arena.make<ast::UnaryExpr>(*unary);
    copy->operand = operand;
    return copy;
  }
  if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr)) {
    ast::Expr *lhs = expand(binary->lhs, bindings), *rhs = expand(binary->rhs, bindings);
    if (lhs == binary->lhs && rhs == binary->rhs)
      return expr;
    auto *copy = arena.make<ast::BinaryExpr>(*binary);
    copy->lhs = lhs;
    copy->rhs = rhs;
    return copy;
  }
  auto *call = llvm::dyn_cast<ast::CallExpr>(expr);
  return call ? expandCall(*call, bindings) : expr;
}

ast::Expr *FunctionExpander::expandCall(ast::CallExpr &call, const Bindings &bindings) {
  const auto *callee = llvm::dyn_cast<ast::NameExpr>(call.callee);
  if (const auto fn = callee ? functions.find(callee->name) : functions.end(); fn != functions.end())
    return inlined(*fn->second, call, bindings);
  std::vector<ast::Expr *> values;
  for (const ast::Argument &argument : call.args)
    values.push_back(expand(argument.value, bindings));
  const auto isSame = [](const ast::Argument &argument, const ast::Expr *value) { return argument.value == value; };
  if (std::equal(call.args.begin(), call.args.end(), values.begin(), isSame))
    return &call;
  auto *copy = arena.make<ast::CallExpr>(call);
  for (size_t i = 0; i < values.size(); ++i)
    copy->args[i].value = values[i];
  return copy;
}

ast::Expr *FunctionExpander::inlined(const ast::FnDecl &fn, const ast::CallExpr &call, const Bindings &outer) {
  std::vector<std::string_view> params;
  for (const ast::Identifier &param : fn.params)
    params.push_back(param.text);
  const auto tell = [&](Diag id, SourceRange where, const auto &...args) { reporter.error(id, where, args...); };
  const std::optional<std::vector<ast::Expr *>> values = placeArgs(call, params, fn.name.text, reporter, tell);
  if (!values)
    return failed(call);
  if (std::find(inlining.begin(), inlining.end(), &fn) != inlining.end()) {
    reporter.error(Diag::recursive_function, call.range, fn.name.text);
    return failed(call);
  }
  Bindings bindings;
  for (size_t i = 0; i < values->size(); ++i)
    bindings[fn.params[i].text] = expand((*values)[i], outer);
  inlining.push_back(&fn);
  ast::Expr *result = nullptr;
  for (const ast::Stmt *stmt : fn.body->stmts) {
    if (const auto *let = llvm::dyn_cast<ast::LetStmt>(stmt); let && let->names.size() == 1 && let->value)
      bindings[let->names[0].text] = expand(let->value, bindings);
    else if (const auto *ret = llvm::dyn_cast<ast::ReturnStmt>(stmt); ret && ret->values.size() == 1)
      result = expand(ret->values[0], bindings);
    else
      break;
  }
  inlining.pop_back();
  if (result)
    return result;
  reporter.error(Diag::when_calls, call.range, fn.name.text);
  return failed(call);
}

ast::Expr *FunctionExpander::failed(const ast::Expr &where) {
  auto *error = arena.make<ast::ErrorExpr>();
  error->range = where.range;
  return error;
}

} // namespace tkc::sema
