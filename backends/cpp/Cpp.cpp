// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpp/Cpp.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <limits>

namespace tkc::cpp {

namespace {

struct InfixRow {
  std::string_view op;
  Precedence precedence;
};
constexpr InfixRow infixTable[] = {
    {"=", Precedence::Assign},         {"+=", Precedence::Assign},        {"-=", Precedence::Assign},
    {"*=", Precedence::Assign},        {"|=", Precedence::Assign},        {"||", Precedence::Or},
    {"&&", Precedence::And},           {"|", Precedence::BitOr},          {"^", Precedence::BitXor},
    {"&", Precedence::BitAnd},         {"==", Precedence::Equality},      {"!=", Precedence::Equality},
    {"<", Precedence::Relational},     {"<=", Precedence::Relational},    {">", Precedence::Relational},
    {">=", Precedence::Relational},    {"<<", Precedence::Shift},         {">>", Precedence::Shift},
    {"+", Precedence::Additive},       {"-", Precedence::Additive},       {"*", Precedence::Multiplicative},
    {"/", Precedence::Multiplicative}, {"%", Precedence::Multiplicative},
};

Precedence infixPrecedence(std::string_view op) {
  for (const InfixRow &row : infixTable)
    if (row.op == op)
      return row.precedence;
  assert(false && "the operator is in the table");
  return Precedence::Assign;
}

Expr make(ExprNode::Kind kind, Precedence precedence, std::string text, std::vector<Expr> children) {
  auto node = std::make_shared<ExprNode>();
  node->kind = kind;
  node->precedence = precedence;
  node->text = std::move(text);
  node->children = std::move(children);
  return Expr(std::move(node));
}

std::string printAt(const Expr &expr, Precedence least) {
  const std::string text = print(expr);
  return expr->precedence < least ? "(" + text + ")" : text;
}

Precedence next(Precedence precedence) { return static_cast<Precedence>(static_cast<int>(precedence) + 1); }

/// Where compilers warn about a mix that is right: `a & b == c`, `a << b + c`, `a << b < c`, `a && b || c`.
bool wantsParentheses(const ExprNode &parent, const ExprNode &child) {
  if (child.kind != ExprNode::Infix || child.precedence == parent.precedence)
    return false;
  const auto bitwise = [](Precedence p) { return p >= Precedence::BitOr && p <= Precedence::BitAnd; };
  const auto compares = [](Precedence p) { return p == Precedence::Equality || p == Precedence::Relational; };
  if (bitwise(parent.precedence) || parent.precedence == Precedence::Shift)
    return true;
  if (compares(parent.precedence) && child.precedence == Precedence::Shift) // of tiles
    return true;
  return parent.precedence == Precedence::Or && child.precedence == Precedence::And;
}

std::string printList(const std::vector<Expr> &exprs, size_t from) {
  std::string text;
  for (size_t i = from; i < exprs.size(); ++i)
    text += (i > from ? ", " : "") + print(exprs[i]);
  return text;
}

std::string printInfix(const ExprNode &node) {
  // `-` and `/` associate to the left; so do the others, and `a + (b + c)` keeps its parentheses, which floats need.
  const auto side = [&](const Expr &child, Precedence least) {
    return wantsParentheses(node, *child) ? "(" + print(child) + ")" : printAt(child, least);
  };
  const bool assigns = node.precedence == Precedence::Assign;
  return side(node.children[0], assigns ? Precedence::Ternary : node.precedence) + " " + node.text + " " +
         side(node.children[1], assigns ? Precedence::Assign : next(node.precedence));
}

} // namespace

Expr name(std::string text) { return make(ExprNode::Text, Precedence::Primary, std::move(text), {}); }

Expr integer(int64_t value) {
  if (value == std::numeric_limits<int32_t>::min()) // as a literal it is the minus of a long
    return make(ExprNode::Text, Precedence::Additive, "-2147483647 - 1", {});
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprNode::Integer;
  node->precedence = value < 0 ? Precedence::Unary : Precedence::Primary;
  node->integer = value;
  return Expr(std::move(node));
}

Expr boolean(bool value) { return name(value ? "true" : "false"); }

Expr floating(double value, bool isDouble) {
  if (!std::isfinite(value)) { // the runtime's names for these are floats
    const Expr number = std::isnan(value) ? name("tk::nan") : value < 0 ? unary("-", name("tk::inf")) : name("tk::inf");
    return isDouble ? call("double", {number}) : number;
  }
  std::string text = isDouble ? fmt::format("{}", std::fabs(value)) : fmt::format("{}", std::fabs(float(value)));
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  if (!isDouble)
    text += "f";
  return std::signbit(value) ? unary("-", name(text)) : name(text);
}

Expr string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return name(quoted + "\"");
}

Expr unary(std::string op, Expr operand) {
  if (op == "-" && operand->kind == ExprNode::Integer)
    return integer(-operand->integer);
  return make(ExprNode::Prefix, Precedence::Unary, std::move(op), {std::move(operand)});
}

Expr binary(std::string op, Expr lhs, Expr rhs) {
  const std::optional<int64_t> x = asInteger(lhs);
  const std::optional<int64_t> y = asInteger(rhs);
  if (x && y) {
    if (op == "+")
      return integer(*x + *y);
    if (op == "-")
      return integer(*x - *y);
    if (op == "*")
      return integer(*x * *y);
    if (op == "/" && *x >= 0 && *y > 0)
      return integer(*x / *y);
  }
  if ((y == 0 && (op == "+" || op == "-")) || (y == 1 && (op == "*" || op == "/")))
    return lhs;
  if ((x == 0 && op == "+") || (x == 1 && op == "*"))
    return rhs;
  if ((op == "+" || op == "-") && y && *y < 0)
    return binary(op == "+" ? "-" : "+", std::move(lhs), integer(-*y));
  const Precedence precedence = infixPrecedence(op);
  return make(ExprNode::Infix, precedence, std::move(op), {std::move(lhs), std::move(rhs)});
}

Expr conditional(Expr condition, Expr then, Expr otherwise) {
  return make(ExprNode::Conditional, Precedence::Ternary, {},
              {std::move(condition), std::move(then), std::move(otherwise)});
}

Expr call(Expr callee, std::vector<Expr> args) {
  args.insert(args.begin(), std::move(callee));
  return make(ExprNode::Call, Precedence::Postfix, {}, std::move(args));
}
Expr call(std::string callee, std::vector<Expr> args) { return call(name(std::move(callee)), std::move(args)); }

Expr templated(std::string text, const std::vector<Expr> &args) {
  return args.empty() ? name(std::move(text)) : name(text + "<" + printList(args, 0) + ">");
}

Expr member(Expr base, std::string text) {
  return make(ExprNode::Member, Precedence::Postfix, std::move(text), {std::move(base)});
}
Expr method(Expr base, std::string text, std::vector<Expr> args) {
  return call(member(std::move(base), std::move(text)), std::move(args));
}

Expr subscript(Expr base, Expr index) {
  return make(ExprNode::Subscript, Precedence::Postfix, {}, {std::move(base), std::move(index)});
}

Expr braces(std::string type, std::vector<Expr> elements) {
  return make(ExprNode::Braces, Precedence::Postfix, std::move(type), std::move(elements));
}

Expr lambda(std::string head, Expr value) {
  return make(ExprNode::Lambda, Precedence::Primary, std::move(head), {std::move(value)});
}

std::optional<int64_t> asInteger(const Expr &expr) {
  if (expr && expr->kind == ExprNode::Integer)
    return expr->integer;
  return std::nullopt;
}

std::string print(const Expr &expr) {
  const auto &children = expr->children;
  switch (expr->kind) {
  case ExprNode::Text:
    return expr->text;
  case ExprNode::Integer:
    if (expr->integer > INT32_MAX || expr->integer < INT32_MIN)
      return std::to_string(expr->integer) + "LL";
    return std::to_string(expr->integer);
  case ExprNode::Prefix: {
    const std::string operand = printAt(children[0], Precedence::Unary);
    const bool joins = !operand.empty() && operand.front() == expr->text.back(); // `-(-x)`, not `--x`
    return joins ? expr->text + "(" + operand + ")" : expr->text + operand;
  }
  case ExprNode::Infix:
    return printInfix(*expr);
  case ExprNode::Conditional:
    return printAt(children[0], Precedence::Or) + " ? " + printAt(children[1], Precedence::Or) + " : " +
           printAt(children[2], Precedence::Ternary);
  case ExprNode::Call:
    return printAt(children[0], Precedence::Postfix) + "(" + printList(children, 1) + ")";
  case ExprNode::Member:
    return printAt(children[0], Precedence::Postfix) + "." + expr->text;
  case ExprNode::Subscript:
    return printAt(children[0], Precedence::Postfix) + "[" + print(children[1]) + "]";
  case ExprNode::Braces:
    return expr->text + "{" + printList(children, 0) + "}";
  case ExprNode::Lambda:
    return expr->text + " { return " + print(children[0]) + "; }";
  }
  return {};
}

Stmt Stmt::assign(Expr target, Expr value) { return expression(binary("=", std::move(target), std::move(value))); }
Stmt Stmt::ret(Expr value) { return expression(cpp::name(value ? "return " + print(value) : "return")); }

namespace {

void printLines(std::string &out, std::string_view text, const std::string &pad) {
  while (true) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    out += pad + "//" + (line.empty() ? "" : " ") + std::string(line) + "\n";
    if (end == std::string_view::npos)
      return;
    text.remove_prefix(end + 1);
  }
}

void printStmt(std::string &out, const Stmt &stmt, int indent);

/// One expression stands without braces.
bool isBare(const Body &body) { return body.size() == 1 && body.front().kind == Stmt::Expression; }

void printIf(std::string &out, const Stmt &stmt, int indent) {
  const std::string pad(indent, ' ');
  const bool chains = stmt.orElse.size() == 1 && stmt.orElse.front().kind == Stmt::If;
  const bool bare = isBare(stmt.body) && (stmt.orElse.empty() || isBare(stmt.orElse));
  out += pad + stmt.text + " (" + print(stmt.expr) + ")" + (bare ? "\n" : " {\n") + print(stmt.body, indent + 2);
  if (!bare && stmt.orElse.empty())
    out += pad + "}\n";
  if (stmt.orElse.empty())
    return;
  out += pad + (bare ? "else" : "} else");
  if (chains) {
    std::string rest;
    printIf(rest, stmt.orElse.front(), indent);
    out += " " + rest.substr(pad.size());
    return;
  }
  out += (bare ? "\n" : " {\n") + print(stmt.orElse, indent + 2) + (bare ? "" : pad + "}\n");
}

void printStmt(std::string &out, const Stmt &stmt, int indent) {
  const std::string pad(indent, ' ');
  switch (stmt.kind) {
  case Stmt::Comment:
    printLines(out, stmt.text, pad);
    return;
  case Stmt::Blank:
    out += "\n";
    return;
  case Stmt::Expression:
    out += pad + print(stmt.expr) + ";\n";
    return;
  case Stmt::Declaration: {
    out += pad + stmt.text + (stmt.text.ends_with('&') ? "" : " ") + stmt.name;
    if (stmt.expr)
      out += (stmt.expr->kind == ExprNode::Braces && stmt.expr->text.empty() ? "" : " = ") + print(stmt.expr);
    out += ";\n";
    return;
  }
  case Stmt::If:
    return printIf(out, stmt, indent);
  case Stmt::For:
    out += pad + "for (" + stmt.text + ")" + (isBare(stmt.body) ? "\n" : " {\n") + print(stmt.body, indent + 2) +
           (isBare(stmt.body) ? "" : pad + "}\n");
    return;
  case Stmt::Lambda:
    out += pad + "const auto " + stmt.name + " = " + stmt.text + " {\n" + print(stmt.body, indent + 2) + pad + "};\n";
    return;
  case Stmt::Block:
    out += pad + "{\n" + print(stmt.body, indent + 2) + pad + "}\n";
    return;
  }
}

} // namespace

std::string print(const Body &body, int indent) {
  std::string out;
  for (const Stmt &stmt : body)
    printStmt(out, stmt, indent);
  return out;
}

void NameScope::reserve(std::string text) { used.push_back(std::move(text)); }

std::string NameScope::take(const std::string &wanted) {
  const auto taken = [&](const std::string &text) {
    return isReserved(text) || std::find(used.begin(), used.end(), text) != used.end();
  };
  std::string text = wanted;
  for (int i = 2; taken(text); ++i)
    text = wanted + std::to_string(i);
  used.push_back(text);
  return text;
}

} // namespace tkc::cpp
