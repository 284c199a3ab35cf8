// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// References: every output is defined, once, with as many indices as it has dims, and every name is known.
#include "frontend/sema/ConstantExpr.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/Report.h"

#include "llvm/Support/Casting.h"

#include <algorithm>
#include <set>

namespace tkc::sema {
namespace {

const std::vector<std::string> functionNames = {"min",     "max",   "abs",   "exp",    "exp2", "log", "log2",
                                                "sqrt",    "rsqrt", "rcp",   "tanh",   "sin",  "cos", "erf",
                                                "sigmoid", "floor", "where", "philox", "sum",  "prod"};

class ReferenceChecker {
public:
  ReferenceChecker(const ast::ReferenceDecl &decl, const Signature &signature, const Module &module, Reporter &reporter)
      : decl(decl), signature(signature), module(module), reporter(reporter) {}

  void check() {
    collectNames();
    for (const ast::Equation &equation : decl.equations)
      checkEquation(equation);
    std::string missing;
    for (const ir::Param &param : signature.params)
      if (param.mode != ir::ParamMode::In && !defined.count(param.name))
        missing += (missing.empty() ? "`" : ", `") + param.name + "`";
    if (!missing.empty())
      reporter.error(Diag::reference_misses, decl.name.range, decl.name.text, missing);
  }

private:
  void collectNames() {
    for (const ir::Param &param : signature.params)
      names.insert(param.name);
    names.insert(signature.order.begin(), signature.order.end());
    names.insert(signature.symbols.begin(), signature.symbols.end());
    for (auto &tune : signature.tunes)
      names.insert(tune.first);
    for (auto &typeParam : signature.typeParams)
      names.insert(typeParam.first);
    for (const ast::Equation &equation : decl.equations)
      names.insert(equation.name.text);
  }

  void checkEquation(const ast::Equation &equation) {
    const std::string &name = equation.name.text;
    auto [previous, isNew] = defined.try_emplace(name, equation.name.range);
    if (!isNew)
      reporter.error(Diag::redeclared, equation.name.range, name)
          .note(Diag::note_declared_here, previous->second, name);
    if (const ir::Param *param = signature.findParam(name)) {
      SourceRange declared{param->loc, param->loc};
      if (param->mode == ir::ParamMode::In)
        reporter.error(Diag::reference_of_input, equation.name.range, name)
            .note(Diag::note_declared_here, declared, name);
      else if (param->dims.size() != equation.indices.size())
        reporter.error(Diag::number_of_indices, equation.range, name, param->dims.size(), equation.indices.size())
            .note(Diag::note_declared_here, declared, name);
    }
    std::set<std::string> bound;
    for (const ast::IndexBinder &binder : equation.indices)
      bind(binder, bound);
    expr(equation.value, bound);
  }

  void bind(const ast::IndexBinder &binder, std::set<std::string> &bound) {
    if (binder.lo)
      expr(binder.lo, bound);
    if (binder.hi)
      expr(binder.hi, bound);
    bound.insert(binder.name.text);
  }

  void name(const ast::NameExpr &name, const std::set<std::string> &bound) {
    bool isKnown =
        bound.count(name.name) || names.count(name.name) || builtinConstant(name.name) || parseElemType(name.name);
    if (isKnown)
      return;
    std::vector<std::string> candidates(names.begin(), names.end());
    candidates.insert(candidates.end(), bound.begin(), bound.end());
    reportUnknown(reporter, "name", name.name, name.range, candidates);
  }

  void call(const ast::CallExpr &call, const std::set<std::string> &bound) {
    if (auto *callee = llvm::dyn_cast<ast::NameExpr>(call.callee)) {
      bool isTypeParam = std::any_of(signature.typeParams.begin(), signature.typeParams.end(),
                                     [&](const auto &param) { return param.first == callee->name; });
      bool isKnown = isTypeParam || parseElemType(callee->name) || module.functions.count(callee->name) ||
                     std::find(functionNames.begin(), functionNames.end(), callee->name) != functionNames.end();
      if (!isKnown) {
        std::vector<std::string> candidates = functionNames;
        for (auto &entry : module.functions)
          candidates.push_back(entry.first);
        reportUnknown(reporter, "function", callee->name, callee->range, candidates);
      }
    }
    for (const ast::Argument &arg : call.args)
      expr(arg.value, bound);
  }

  void expr(const ast::Expr *expr, const std::set<std::string> &bound) {
    switch (expr->kind) {
    case ast::ExprKind::Name:
      name(*llvm::cast<ast::NameExpr>(expr), bound);
      break;
    case ast::ExprKind::Unary:
      this->expr(llvm::cast<ast::UnaryExpr>(expr)->operand, bound);
      break;
    case ast::ExprKind::Binary:
      this->expr(llvm::cast<ast::BinaryExpr>(expr)->lhs, bound);
      this->expr(llvm::cast<ast::BinaryExpr>(expr)->rhs, bound);
      break;
    case ast::ExprKind::Call:
      call(*llvm::cast<ast::CallExpr>(expr), bound);
      break;
    case ast::ExprKind::Index: {
      auto *index = llvm::cast<ast::IndexExpr>(expr);
      this->expr(index->base, bound);
      for (const ast::Subscript &subscript : index->subscripts)
        for (const ast::Expr *part : {subscript.first, subscript.second})
          if (part)
            this->expr(part, bound);
      break;
    }
    case ast::ExprKind::Member:
      this->expr(llvm::cast<ast::MemberExpr>(expr)->base, bound);
      break;
    case ast::ExprKind::Else:
      this->expr(llvm::cast<ast::ElseExpr>(expr)->slice, bound);
      this->expr(llvm::cast<ast::ElseExpr>(expr)->otherwise, bound);
      break;
    case ast::ExprKind::If: {
      auto *choice = llvm::cast<ast::IfExpr>(expr);
      for (const ast::Expr *part : {choice->condition, choice->thenValue, choice->elseValue})
        this->expr(part, bound);
      break;
    }
    case ast::ExprKind::Reduction: {
      auto *reduction = llvm::cast<ast::ReductionExpr>(expr);
      std::set<std::string> inner = bound;
      for (const ast::IndexBinder &binder : reduction->binders)
        bind(binder, inner);
      this->expr(reduction->body, inner);
      break;
    }
    case ast::ExprKind::List:
      for (const ast::Expr *element : llvm::cast<ast::ListExpr>(expr)->elements)
        this->expr(element, bound);
      break;
    case ast::ExprKind::Range:
      this->expr(llvm::cast<ast::RangeExpr>(expr)->lo, bound);
      this->expr(llvm::cast<ast::RangeExpr>(expr)->hi, bound);
      break;
    case ast::ExprKind::Error:
    case ast::ExprKind::Number:
    case ast::ExprKind::Bool:
    case ast::ExprKind::String:
    case ast::ExprKind::None:
    case ast::ExprKind::New:
      break;
    }
  }

  const ast::ReferenceDecl &decl;
  const Signature &signature;
  const Module &module;
  Reporter &reporter;
  std::set<std::string> names;
  std::map<std::string, SourceRange> defined;
};

} // namespace

void checkReference(const ast::ReferenceDecl &reference, const Signature &signature, const Module &module,
                    Reporter &reporter) {
  ReferenceChecker(reference, signature, module, reporter).check();
}

} // namespace tkc::sema
