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
  if (const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(&expr))
    collect(*unary->operand, asked);
  if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr)) {
    collect(*binary->lhs, asked);
    collect(*binary->rhs, asked);
  }
  if (const auto *call = llvm::dyn_cast<ast::CallExpr>(&expr)) {
    const std::string quantity = askedBy(*call);
    if (!quantity.empty())
      asked.insert(quantity);
    else
      for (const ast::Argument &arg : call->args)
        collect(*arg.value, asked);
  }
}

/// One condition as statements. `/` and `%` floor as they do in .tk.
class Body {
public:
  explicit Body(const Names &parameters) : parameters(parameters) {}

  /// Statements that return whether all terms hold.
  void decideAll(const std::vector<const ast::Expr *> &terms) {
    const cpp::Expr whole = all(terms);
    if (terms.size() == 1)
      return decide(*terms[0]);
    if (print(whole).size() <= shortText)
      return give(whole);
    std::vector<const ast::Expr *> together;
    for (size_t i = 0; i + 1 < terms.size(); ++i) {
      if (!together.empty() && print(all(together)).size() + print(tree(*terms[i])).size() > shortText)
        refuseUnless(std::exchange(together, {}));
      together.push_back(terms[i]);
    }
    refuseUnless(together);
    decide(*terms.back());
  }

  /// Statements that name the cheapest.
  void choose(const std::vector<Offer> &offers, const std::string &cheapest) {
    statements.push_back(cpp::Stmt::declaration("tk::host::cheapest", cheapest));
    for (const Offer &offer : offers) {
      const cpp::Stmt add = cpp::Stmt::expression(
          cpp::call(cheapest + ".offer", {cpp::integer(static_cast<int64_t>(offer.number)), tree(*offer.terms->cost)}));
      if (offer.terms->conditions.empty())
        statements.push_back(add);
      else
        statements.push_back(cpp::Stmt::ifThen(all(offer.terms->conditions), {add}));
    }
    give(cpp::name(cheapest + ".number"));
  }

  cpp::Body statements;

private:
  void decide(const ast::Expr &expr) {
    const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr);
    const bool isLong = print(tree(expr)).size() > shortText;
    if (isLong && binary && binary->op == ast::BinaryOp::And)
      return decideAll(chain(expr, ast::BinaryOp::And));
    if (!isLong || !binary || binary->op != ast::BinaryOp::Or)
      return give(tree(expr));
    const std::vector<const ast::Expr *> terms = chain(expr, ast::BinaryOp::Or);
    for (size_t i = 0; i + 1 < terms.size(); ++i)
      statements.push_back(cpp::Stmt::ifThen(tree(*terms[i]), {cpp::Stmt::ret(cpp::boolean(true))}));
    decide(*terms.back());
  }

  void give(cpp::Expr value) { statements.push_back(cpp::Stmt::ret(std::move(value))); }

  void refuseUnless(const std::vector<const ast::Expr *> &terms) {
    statements.push_back(cpp::Stmt::ifThen(cpp::unary("!", all(terms)), {cpp::Stmt::ret(cpp::boolean(false))}));
  }

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

  cpp::Expr joined(const std::vector<const ast::Expr *> &terms, const char *op) const {
    cpp::Expr result = tree(*terms[0]);
    for (size_t i = 1; i < terms.size(); ++i)
      result = cpp::binary(op, result, tree(*terms[i]));
    return result;
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

  /// `min`, `max` and `ceildiv` are functions of two numbers.
  cpp::Expr call(const ast::CallExpr &expr) const {
    if (const std::string quantity = askedBy(expr); !quantity.empty())
      return cpp::name(parameters.at(quantity));
    const std::string function = "tk::host::" + llvm::cast<ast::NameExpr>(expr.callee)->name;
    cpp::Expr result = tree(*expr.args[0].value);
    for (size_t i = 1; i < expr.args.size(); ++i)
      result = cpp::call(function, {result, tree(*expr.args[i].value)});
    return result;
  }

  const Names &parameters;
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
  Body body(parameters);
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
  Body body(parameters);
  body.choose(offers, local);
  return callOf(kernel + "_cheapest", "int", asked, parameters, body.statements, quantities);
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
