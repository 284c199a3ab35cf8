// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small tree of the C++ that emitted files are made of, and its printer. Parentheses come from a precedence table and
// integer arithmetic on known numbers is done while building, so that nobody glues strings; line breaks are left to
// Format.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tkc::cpp {

/// How tightly an expression binds, loosest first ([expr] of the C++ standard, as far as emitted code goes).
enum class Precedence : uint8_t {
  Assign,
  Ternary,
  Or,
  And,
  BitOr,
  BitXor,
  BitAnd,
  Equality,
  Relational,
  Shift,
  Additive,
  Multiplicative,
  Unary,
  Postfix,
  Primary,
};

struct ExprNode;
/// An immutable expression; cheap to copy. Empty when default-constructed.
class Expr {
public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node(std::move(node)) {}
  explicit operator bool() const { return node != nullptr; }
  const ExprNode &operator*() const { return *node; }
  const ExprNode *operator->() const { return node.get(); }

private:
  std::shared_ptr<const ExprNode> node;
};

struct ExprNode {
  enum Kind : uint8_t {
    Text,
    Integer,
    Prefix,
    Infix,
    Conditional,
    Call,
    Member,
    Subscript,
    Braces,
    Lambda
  } kind = Text;
  Precedence precedence = Precedence::Primary;
  std::string text; ///< Text; the operator of Prefix and Infix; Member: the name; Lambda: captures and parameters
  int64_t integer = 0;
  std::vector<Expr> children; ///< Call, Subscript: callee or base first
};

/// A name, or any other text that binds as tightly as one.
Expr name(std::string text);
Expr integer(int64_t value);
Expr boolean(bool value);
/// Shortest text that reads back as the same float (with `f`), double or infinity.
Expr floating(double value, bool isDouble);
Expr string(std::string_view text);
/// `op` is `-`, `!`, `~`, `*` or `&`.
Expr unary(std::string op, Expr operand);
/// Folds + - * / on two numbers and drops additions of 0 and multiplications by 1.
Expr binary(std::string op, Expr lhs, Expr rhs);
Expr conditional(Expr condition, Expr then, Expr otherwise);
Expr call(Expr callee, std::vector<Expr> args = {});
Expr call(std::string callee, std::vector<Expr> args = {});
/// `name<args>`
Expr templated(std::string name, const std::vector<Expr> &args);
Expr member(Expr base, std::string name);
Expr method(Expr base, std::string name, std::vector<Expr> args = {});
Expr subscript(Expr base, Expr index);
/// `type{…}`; an empty type gives plain braces.
Expr braces(std::string type, std::vector<Expr> elements);
/// `head { return value; }`, `head` being captures and parameters.
Expr lambda(std::string head, Expr value);

std::optional<int64_t> asInteger(const Expr &expr);
std::string print(const Expr &expr);

struct Stmt;
using Body = std::vector<Stmt>;

/// One statement of a function.
struct Stmt {
  enum Kind : uint8_t { Comment, Blank, Expression, Declaration, If, For, Block, Lambda } kind = Blank;
  std::string text; ///< Comment: its lines; Declaration: the type; If: "if" or "if constexpr"; For: "init; cond; step";
                    ///< Lambda: its head
  std::string name; ///< Declaration, Lambda
  Expr expr;        ///< Expression; Declaration: the initial value, or none, or plain braces; If: the condition
  Body body, orElse;

  static Stmt comment(std::string text) { return {Comment, std::move(text), {}, {}, {}, {}}; }
  static Stmt blank() { return {}; }
  static Stmt expression(Expr expr) { return {Expression, {}, {}, std::move(expr), {}, {}}; }
  static Stmt declaration(std::string type, std::string name, Expr value = {}) {
    return {Declaration, std::move(type), std::move(name), std::move(value), {}, {}};
  }
  static Stmt assign(Expr target, Expr value);
  static Stmt ifThen(Expr condition, Body then, Body otherwise = {}) {
    return {If, "if", {}, std::move(condition), std::move(then), std::move(otherwise)};
  }
  static Stmt forLoop(std::string head, Body body) { return {For, std::move(head), {}, {}, std::move(body), {}}; }
  static Stmt ret(Expr value);
  /// `const auto name = head { body };`, `head` being captures and parameters.
  static Stmt lambda(std::string name, std::string head, Body body) {
    return {Lambda, std::move(head), std::move(name), {}, std::move(body), {}};
  }
  static Stmt block(Body body) { return {Block, {}, {}, {}, std::move(body), {}}; }
};

/// A line a statement, indented by two spaces; long lines are not broken.
std::string print(const Body &body, int indent);

/// Hands out identifiers that clash neither with each other nor with C++'s keywords: `name`, else `name2`, `name3`, …
class NameScope {
public:
  /// Reserves a name that `take` will not give.
  void reserve(std::string name);
  std::string take(const std::string &wanted);

private:
  std::vector<std::string> used;
};
bool isKeyword(std::string_view text);
/// Whether nothing in a file may be called so: keywords, macros of headers, what belongs to the compiler; types
/// and variables of headers, which GCC warns of where a parameter or a local variable hides one.
bool isOfCompiler(std::string_view text);
/// Whether a local variable may not be called so. Of whole families of names `isOfCompiler` knows alone.
bool isReserved(std::string_view text);
/// Whether a function may not be called so: C, POSIX and CUDA have one, or a type.
bool isGlobal(std::string_view text);

} // namespace tkc::cpp
