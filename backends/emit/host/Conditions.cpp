// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/emit/host/Conditions.h"

#include "backends/emit/kernel/Types.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <llvm/Support/Casting.h>
#include <utility>

namespace tkc::cuda {
namespace {

using Names = std::map<std::string, std::string>;

/// What is not split any more: some two lines.
constexpr size_t shortText = 200;

void collect(const ast::Expr &expr, std::set<std::string> &asked) {
  if (const auto *name = llvm::dyn_cast<ast::NameExpr>(&expr))
    asked.insert(name->name);
  const auto *call = llvm::dyn_cast<ast::CallExpr>(&expr);
  if (const std::string quantity = call ? askedBy(*call) : ""; !quantity.empty())
    asked.insert(quantity);
  else
    for (const ast::Expr *operand : ast::operandsOf(expr))
      collect(*operand, asked);
}

/// A function of the file that an expression calls; null: it calls none.
const ast::FnDecl *calledBy(const ast::CallExpr &call, const ast::Functions &functions) {
  const auto *callee = llvm::dyn_cast<ast::NameExpr>(call.callee);
  const auto found = callee ? functions.find(callee->name) : functions.end();
  return found == functions.end() ? nullptr : found->second;
}

/// Visits every call in an expression of conditions.
template <class Visit> void forEachCall(const ast::Expr &expr, const Visit &visit) {
  for (const ast::Expr *operand : ast::operandsOf(expr))
    forEachCall(*operand, visit);
  if (const auto *call = llvm::dyn_cast<ast::CallExpr>(&expr))
    visit(*call);
}

/// The expressions of a function's lets and of its result.
std::vector<const ast::Expr *> expressionsIn(const ast::FnDecl &fn) {
  std::vector<const ast::Expr *> all;
  for (const ast::Stmt *stmt : fn.body->stmts)
    if (const auto *let = llvm::dyn_cast<ast::LetStmt>(stmt))
      all.push_back(let->value);
    else if (const auto *ret = llvm::dyn_cast<ast::ReturnStmt>(stmt))
      all.push_back(ret->values[0]);
  return all;
}

/// Its parameters and lets.
std::vector<std::string> namesIn(const ast::FnDecl &fn) {
  std::vector<std::string> names;
  for (const ast::Identifier &param : fn.params)
    names.push_back(param.text);
  for (const ast::Stmt *stmt : fn.body->stmts)
    if (const auto *let = llvm::dyn_cast<ast::LetStmt>(stmt))
      names.push_back(let->names[0].text);
  return names;
}

/// Whether a function asks for nothing but its arguments, so that it can be one in C++.
bool isClosed(const ast::FnDecl &fn, const ast::Functions &functions) {
  std::set<std::string> asked;
  bool callsClosed = true;
  for (const ast::Expr *expr : expressionsIn(fn)) {
    collect(*expr, asked);
    forEachCall(*expr, [&](const ast::CallExpr &call) {
      const ast::FnDecl *called = calledBy(call, functions);
      callsClosed &= !called || isClosed(*called, functions);
    });
  }
  const std::vector<std::string> own = namesIn(fn);
  return callsClosed && std::all_of(asked.begin(), asked.end(), [&](const std::string &name) {
           return std::find(own.begin(), own.end(), name) != own.end();
         });
}

bool hasFloats(const ast::Expr &expr) {
  const auto *number = llvm::dyn_cast<ast::NumberExpr>(&expr);
  const std::vector<const ast::Expr *> operands = ast::operandsOf(expr);
  return (number && number->isFloat) ||
         std::any_of(operands.begin(), operands.end(), [](const ast::Expr *operand) { return hasFloats(*operand); });
}

/// As it is written, where it is about integers and all functions that it calls are closed; else with functions
/// inlined.
const ast::Expr &printedCost(const ScheduleTerms &terms, const Quantities &quantities) {
  std::set<std::string> asked;
  collect(*terms.cost, asked);
  bool isPrinted = !hasFloats(*terms.cost) && std::all_of(asked.begin(), asked.end(), [&](const std::string &name) {
    const std::string &type = quantities.at(name).type;
    return type == "int64_t" || type == "int";
  });
  forEachCall(*terms.decl->writtenCost, [&](const ast::CallExpr &call) {
    const ast::FnDecl *called = calledBy(call, *terms.decl->functions);
    isPrinted &= !called || isClosed(*called, *terms.decl->functions);
  });
  return isPrinted ? *terms.decl->writtenCost : *terms.cost;
}

/// Expressions in C++. `/` and `%` floor as they do in .tk.
class Trees {
public:
  /// `called`: names of the file's functions in emitted code.
  Trees(const Names &parameters, const Names &called, const ast::Functions *functions)
      : parameters(parameters), called(called), functions(functions) {}

  /// The terms of `a && b && c`, whatever its parentheses.
  static std::vector<const ast::Expr *> chain(const ast::Expr &expr, ast::BinaryOp op) {
    const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr);
    if (!binary || binary->op != op)
      return {&expr};
    std::vector<const ast::Expr *> terms = chain(*binary->lhs, op);
    for (const ast::Expr *term : chain(*binary->rhs, op))
      terms.push_back(term);
    return terms;
  }

  cpp::Expr all(const std::vector<const ast::Expr *> &terms) const { return joined(terms, "&&"); }

  cpp::Expr tree(const ast::Expr &expr) const {
    if (const auto *number = llvm::dyn_cast<ast::NumberExpr>(&expr))
      return number->isFloat ? cpp::floating(number->value, true) : cpp::integer(number->integer);
    if (const auto *boolean = llvm::dyn_cast<ast::BoolExpr>(&expr))
      return cpp::boolean(boolean->value);
    if (const auto *name = llvm::dyn_cast<ast::NameExpr>(&expr))
      return cpp::name(parameters.at(name->name));
    if (const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(&expr))
      return cpp::unary(unary->op == ast::UnaryOp::Neg   ? "-"
                        : unary->op == ast::UnaryOp::Not ? "!"
                                                         : "~",
                        tree(*unary->operand));
    if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr))
      return infix(*binary);
    return call(llvm::cast<ast::CallExpr>(expr)); // sema lets nothing else stand in a condition
  }

private:
  cpp::Expr joined(const std::vector<const ast::Expr *> &terms, const char *op) const {
    cpp::Expr result = tree(*terms[0]);
    for (size_t i = 1; i < terms.size(); ++i)
      result = cpp::binary(op, result, tree(*terms[i]));
    return result;
  }

  cpp::Expr infix(const ast::BinaryExpr &expr) const {
    switch (expr.op) {
    case ast::BinaryOp::And:
      return joined(chain(expr, expr.op), "&&");
    case ast::BinaryOp::Or:
      return joined(chain(expr, expr.op), "||");
    case ast::BinaryOp::Div:
      return cpp::call("tk::host::divide", {tree(*expr.lhs), tree(*expr.rhs)});
    case ast::BinaryOp::Mod:
      return cpp::call("tk::host::modulo", {tree(*expr.lhs), tree(*expr.rhs)});
    default:
      return cpp::binary(std::string(ast::spelling(expr.op)), tree(*expr.lhs), tree(*expr.rhs));
    }
  }

  /// By place; functions of the file may be called by name.
  std::vector<cpp::Expr> arguments(const ast::CallExpr &expr, const ast::FnDecl &fn) const {
    std::vector<cpp::Expr> placed(fn.params.size());
    for (size_t i = 0; i < expr.args.size(); ++i) {
      const auto named = std::find_if(fn.params.begin(), fn.params.end(), [&](const ast::Identifier &param) {
        return param.text == expr.args[i].name.text;
      });
      placed[named == fn.params.end() ? i : static_cast<size_t>(named - fn.params.begin())] = tree(*expr.args[i].value);
    }
    return placed;
  }

  /// `min`, `max` and `ceildiv` are functions of two numbers.
  cpp::Expr call(const ast::CallExpr &expr) const {
    if (const ast::FnDecl *fn = functions ? calledBy(expr, *functions) : nullptr)
      return cpp::call(called.at(fn->name.text), arguments(expr, *fn));
    if (const std::string quantity = askedBy(expr); !quantity.empty())
      return cpp::name(parameters.at(quantity));
    const std::string function = "tk::host::" + llvm::cast<ast::NameExpr>(expr.callee)->name;
    cpp::Expr result = tree(*expr.args[0].value);
    for (size_t i = 1; i < expr.args.size(); ++i)
      result = cpp::call(function, {result, tree(*expr.args[i].value)});
    return result;
  }

  const Names &parameters;
  const Names &called;
  const ast::Functions *functions;
};

/// Conditions or costs as statements.
class Body {
public:
  explicit Body(Trees trees) : trees(trees) {}

  /// Statements that return whether all terms hold.
  void decideAll(const std::vector<const ast::Expr *> &terms) {
    const cpp::Expr whole = trees.all(terms);
    if (terms.size() == 1)
      return decide(*terms[0]);
    if (print(whole).size() <= shortText)
      return give(whole);
    std::vector<const ast::Expr *> together;
    for (size_t i = 0; i + 1 < terms.size(); ++i) {
      if (!together.empty() && print(trees.all(together)).size() + print(trees.tree(*terms[i])).size() > shortText)
        refuseUnless(std::exchange(together, {}));
      together.push_back(terms[i]);
    }
    refuseUnless(together);
    decide(*terms.back());
  }

  /// Statements that name the cheapest.
  void choose(const std::vector<Offer> &offers, const std::string &cheapest, const Quantities &quantities) {
    statements.push_back(cpp::Stmt::declaration("tk::host::cheapest", cheapest));
    for (const Offer &offer : offers) {
      const cpp::Stmt add =
          cpp::Stmt::expression(cpp::call(cheapest + ".offer", {cpp::integer(static_cast<int64_t>(offer.number)),
                                                                trees.tree(printedCost(*offer.terms, quantities))}));
      if (offer.terms->conditions.empty())
        statements.push_back(add);
      else
        statements.push_back(cpp::Stmt::ifThen(trees.all(offer.terms->conditions), {add}));
    }
    give(cpp::name(cheapest + ".number"));
  }

  cpp::Body statements;

private:
  void decide(const ast::Expr &expr) {
    const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr);
    const bool isLong = print(trees.tree(expr)).size() > shortText;
    if (isLong && binary && binary->op == ast::BinaryOp::And)
      return decideAll(Trees::chain(expr, ast::BinaryOp::And));
    if (!isLong || !binary || binary->op != ast::BinaryOp::Or)
      return give(trees.tree(expr));
    const std::vector<const ast::Expr *> terms = Trees::chain(expr, ast::BinaryOp::Or);
    for (size_t i = 0; i + 1 < terms.size(); ++i)
      statements.push_back(cpp::Stmt::ifThen(trees.tree(*terms[i]), {cpp::Stmt::ret(cpp::boolean(true))}));
    decide(*terms.back());
  }

  void give(cpp::Expr value) { statements.push_back(cpp::Stmt::ret(std::move(value))); }

  void refuseUnless(const std::vector<const ast::Expr *> &terms) {
    statements.push_back(cpp::Stmt::ifThen(cpp::unary("!", trees.all(terms)), {cpp::Stmt::ret(cpp::boolean(false))}));
  }

  Trees trees;
};

/// "alignment_a" for "alignment(a)"; constants as they are.
Names parametersFor(const std::set<std::string> &asked, const Quantities &quantities) {
  cpp::NameScope local;
  Names parameters;
  for (const std::string &quantity : asked) {
    if (quantities.at(quantity).type.empty()) {
      parameters[quantity] = quantities.at(quantity).text;
      continue;
    }
    std::string wanted = quantity;
    if (const size_t bracket = wanted.find('('); bracket != std::string::npos)
      wanted = wanted.substr(0, bracket) + "_" + wanted.substr(bracket + 1, wanted.size() - bracket - 2);
    parameters[quantity] = local.take(identifier(wanted));
  }
  return parameters;
}

} // namespace

Conditions::Conditions(const std::set<std::string> &taken) {
  for (const std::string &name : taken)
    scope.reserve(name);
}

std::vector<const ast::Expr *> expressionsOf(const std::vector<Offer> &offers) {
  std::vector<const ast::Expr *> all;
  for (const Offer &offer : offers) {
    all.insert(all.end(), offer.terms->conditions.begin(), offer.terms->conditions.end());
    all.push_back(offer.terms->cost);
  }
  return all;
}

std::set<std::string> askedAbout(const std::vector<const ast::Expr *> &conditions) {
  std::set<std::string> asked;
  for (const ast::Expr *condition : conditions)
    collect(*condition, asked);
  return asked;
}

std::string Conditions::call(const std::string &kernel, const std::vector<const ast::Expr *> &conditions,
                             const Quantities &quantities) {
  const std::set<std::string> asked = askedAbout(conditions);
  const Names parameters = parametersFor(asked, quantities);
  Body body(Trees(parameters, called, nullptr));
  body.decideAll(conditions);
  return callOf(kernel + "_when", "bool", asked, parameters, body.statements, quantities);
}

std::string Conditions::cheapest(const std::string &kernel, const std::vector<Offer> &offers,
                                 const Quantities &quantities) {
  const std::set<std::string> asked = askedAbout(expressionsOf(offers));
  const Names parameters = parametersFor(asked, quantities);
  std::string local = "least";
  while (std::any_of(parameters.begin(), parameters.end(), [&](const auto &it) { return it.second == local; }))
    local += "_";
  const ast::Functions &functions = *offers.front().terms->decl->functions;
  for (const Offer &offer : offers)
    define(printedCost(*offer.terms, quantities), functions);
  Body body(Trees(parameters, called, &functions));
  body.choose(offers, local, quantities);
  return callOf(kernel + "_cheapest", "int", asked, parameters, body.statements, quantities);
}

void Conditions::define(const ast::Expr &expr, const ast::Functions &functions) {
  forEachCall(expr, [&](const ast::CallExpr &call) {
    if (const ast::FnDecl *fn = calledBy(call, functions))
      define(*fn, functions);
  });
}

void Conditions::define(const ast::FnDecl &fn, const ast::Functions &functions) {
  if (called.count(fn.name.text))
    return;
  for (const ast::Expr *expr : expressionsIn(fn))
    define(*expr, functions);
  Names own;
  cpp::NameScope local;
  for (const std::string &name : namesIn(fn))
    own[name] = local.take(identifier(name));
  std::vector<std::string> params;
  for (const ast::Identifier &param : fn.params)
    params.push_back("int64_t " + own.at(param.text));
  const Trees trees(own, called, &functions);
  cpp::Body statements;
  for (const ast::Stmt *stmt : fn.body->stmts)
    if (const auto *let = llvm::dyn_cast<ast::LetStmt>(stmt))
      statements.push_back(
          cpp::Stmt::declaration("const int64_t", own.at(let->names[0].text), trees.tree(*let->value)));
    else if (const auto *ret = llvm::dyn_cast<ast::ReturnStmt>(stmt))
      statements.push_back(cpp::Stmt::ret(trees.tree(*ret->values[0])));
  const std::string &name = called[fn.name.text] = scope.take("cost_" + fn.name.text);
  text += fmt::format("static int64_t {}({}) {{\n{}}}\n\n", name, fmt::join(params, ", "), print(statements, 2));
}

std::string Conditions::callOf(const std::string &wanted, const char *result, const std::set<std::string> &asked,
                               const Names &parameters, const cpp::Body &statements, const Quantities &quantities) {
  std::vector<std::string> declared, given;
  for (const std::string &name : asked)
    if (const Quantity &quantity = quantities.at(name); !quantity.type.empty()) {
      declared.push_back(quantity.type + " " + parameters.at(name));
      given.push_back(quantity.text);
    }
  const std::string rest = fmt::format("({}) {{\n{}}}\n", fmt::join(declared, ", "), print(statements, 2));
  const auto [name, isNew] = names.try_emplace(result + rest);
  if (isNew) {
    name->second = scope.take(wanted);
    text += fmt::format("static {} {}{}\n", result, name->second, rest);
  }
  return fmt::format("{}({})", name->second, fmt::join(given, ", "));
}

} // namespace tkc::cuda
