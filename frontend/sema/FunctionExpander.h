// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of a file's functions, in the conditions and costs of schedules, become the expressions that they stand for.
// What reads these afterwards, such as the launcher's printer, knows no functions.
#pragma once

#include "frontend/AST.h"

#include <map>
#include <string>
#include <vector>

namespace tkc::sema {

class Reporter;

class FunctionExpander {
public:
  /// All outlive it. New expressions are made in `arena`.
  FunctionExpander(const ast::Functions &functions, ast::Arena &arena, Reporter &reporter)
      : functions(functions), arena(arena), reporter(reporter) {}

  /// `expr` itself where it calls none of the functions; null stays null. Schedules of several kernels have one
  /// expression, which is expanded once.
  ast::Expr *expand(ast::Expr *expr);

private:
  /// What names stand for in the body of a function.
  using Bindings = std::map<std::string, ast::Expr *>;

  ast::Expr *expand(ast::Expr *expr, const Bindings &bindings);
  ast::Expr *expandCall(ast::CallExpr &call, const Bindings &bindings);
  ast::Expr *inlined(const ast::FnDecl &fn, const ast::CallExpr &call, const Bindings &outer);
  ast::Expr *failed(const ast::Expr &where);

  const ast::Functions &functions;
  ast::Arena &arena;
  Reporter &reporter;
  std::map<const ast::Expr *, ast::Expr *> known;
  std::vector<const ast::FnDecl *> inlining; ///< those in whose bodies it is
};

} // namespace tkc::sema
