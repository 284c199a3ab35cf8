// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions, loosest operator first. Every operator of a chain counts as a level of nesting, because a chain becomes
// a tree as deep as it is long, and later stages walk trees recursively.
#include "frontend/ParserImpl.h"

#include <charconv>
#include <limits>

#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/StringRef.h>

namespace tkc {

using namespace ast;

namespace {

struct InfixOp {
  BinaryOp op;
  int precedence;
};

/// The arithmetic operators, tightest with the highest number.
std::optional<InfixOp> arithmeticOp(TokenKind kind) {
  switch (kind) {
  case TokenKind::At:
    return InfixOp{BinaryOp::MatMul, 6};
  case TokenKind::Star:
    return InfixOp{BinaryOp::Mul, 6};
  case TokenKind::Slash:
    return InfixOp{BinaryOp::Div, 6};
  case TokenKind::Percent:
    return InfixOp{BinaryOp::Mod, 6};
  case TokenKind::Plus:
    return InfixOp{BinaryOp::Add, 5};
  case TokenKind::Minus:
    return InfixOp{BinaryOp::Sub, 5};
  case TokenKind::ShiftLeft:
    return InfixOp{BinaryOp::Shl, 4};
  case TokenKind::ShiftRight:
    return InfixOp{BinaryOp::Shr, 4};
  case TokenKind::Ampersand:
    return InfixOp{BinaryOp::BitAnd, 3};
  case TokenKind::Caret:
    return InfixOp{BinaryOp::BitXor, 2};
  case TokenKind::Pipe:
    return InfixOp{BinaryOp::BitOr, 1};
  default: // every other token ends an arithmetic expression
    return std::nullopt;
  }
}

std::optional<BinaryOp> comparisonOp(TokenKind kind) {
  switch (kind) {
  case TokenKind::EqualEqual:
    return BinaryOp::Eq;
  case TokenKind::NotEqual:
    return BinaryOp::Ne;
  case TokenKind::Less:
    return BinaryOp::Lt;
  case TokenKind::LessEqual:
    return BinaryOp::Le;
  case TokenKind::Greater:
    return BinaryOp::Gt;
  case TokenKind::GreaterEqual:
    return BinaryOp::Ge;
  default: // every other token ends a comparison
    return std::nullopt;
  }
}

bool isReductionName(std::string_view name) {
  return name == "sum" || name == "max" || name == "min" || name == "prod";
}

} // namespace

Expr *Parser::errorExpr() {
  auto *error = arena->make<ErrorExpr>();
  error->range = {here(), here()};
  return error;
}

Expr *Parser::binary(BinaryOp op, SourceRange opRange, Expr *lhs, Expr *rhs) {
  auto *node = arena->make<BinaryExpr>();
  node->op = op;
  node->opRange = opRange;
  node->lhs = lhs;
  node->rhs = rhs;
  return node;
}

Expr *Parser::parseExpr() {
  SourceLoc begin = here();
  Nesting nesting(*this);
  Expr *expr = parseOr();
  return !panicking() && at(TokenKind::Question) ? parseForeignChoice(expr, begin) : expr;
}

Expr *Parser::parseOr() {
  SourceLoc begin = here();
  Nesting nesting(*this, 0);
  Expr *lhs = parseAnd();
  while (!panicking() && (at(TokenKind::KwOr) || at(TokenKind::PipePipe))) {
    nesting.deeper();
    Token op = advance();
    if (op.is(TokenKind::PipePipe))
      diagnostics.report(Diag::operator_spelling, op.range, op.text, "or").fixIt(op.range, "or");
    Expr *rhs = parseAnd();
    lhs = finish(binary(BinaryOp::Or, op.range, lhs, rhs), begin);
  }
  return lhs;
}

Expr *Parser::parseAnd() {
  SourceLoc begin = here();
  Nesting nesting(*this, 0);
  Expr *lhs = parseNot();
  while (!panicking() && (at(TokenKind::KwAnd) || at(TokenKind::AmpersandAmpersand))) {
    nesting.deeper();
    Token op = advance();
    if (op.is(TokenKind::AmpersandAmpersand))
      diagnostics.report(Diag::operator_spelling, op.range, op.text, "and").fixIt(op.range, "and");
    Expr *rhs = parseNot();
    lhs = finish(binary(BinaryOp::And, op.range, lhs, rhs), begin);
  }
  return lhs;
}

Expr *Parser::parseNot() {
  SourceLoc begin = here();
  if (panicking() || (!at(TokenKind::KwNot) && !at(TokenKind::Bang)))
    return parseComparison();
  Nesting nesting(*this);
  Token op = advance();
  if (op.is(TokenKind::Bang))
    diagnostics.report(Diag::operator_spelling, op.range, op.text, "not").fixIt(op.range, "not ");
  auto *node = arena->make<UnaryExpr>();
  node->op = UnaryOp::Not;
  node->opRange = op.range;
  node->operand = parseNot();
  return finish(node, begin);
}

Expr *Parser::parseComparison() {
  SourceLoc begin = here();
  Expr *lhs = parseArithmetic(1);
  std::optional<BinaryOp> op = comparisonOp(current.kind);
  if (panicking() || !op)
    return lhs;
  Token opToken = advance();
  Expr *rhs = parseArithmetic(1);
  Expr *result = finish(binary(*op, opToken.range, lhs, rhs), begin);
  if (!panicking() && comparisonOp(current.kind)) {
    diagnostics.report(Diag::comparison_chain, current.range).range(opToken.range);
    diagnostics.report(Diag::note_write_and, {opToken.range.begin, opToken.range.begin});
    panic = true;
  }
  return result;
}

Expr *Parser::parseArithmetic(int minPrecedence) {
  SourceLoc begin = here();
  Nesting nesting(*this, 0);
  Expr *lhs = parseUnary();
  while (!panicking()) {
    std::optional<InfixOp> infix = arithmeticOp(current.kind);
    if (!infix || infix->precedence < minPrecedence)
      break;
    nesting.deeper();
    Token op = advance();
    if (op.is(TokenKind::Star) && at(TokenKind::Star))
      return parseForeignPower(lhs, begin);
    if (current.kind == op.kind && current.range.begin == op.range.end && nextIs(TokenKind::Semicolon) &&
        (at(TokenKind::Plus) || at(TokenKind::Minus)))
      return parseForeignStep(lhs, begin);
    Expr *rhs = parseArithmetic(infix->precedence + 1);
    lhs = finish(binary(infix->op, op.range, lhs, rhs), begin);
  }
  return lhs;
}

Expr *Parser::parseUnary() {
  SourceLoc begin = here();
  if (panicking() || (!at(TokenKind::Minus) && !at(TokenKind::Tilde)))
    return parsePostfix();
  Nesting nesting(*this);
  Token op = advance();
  auto *node = arena->make<UnaryExpr>();
  node->op = op.is(TokenKind::Minus) ? UnaryOp::Neg : UnaryOp::BitNot;
  node->opRange = op.range;
  isNegated = op.is(TokenKind::Minus) && at(TokenKind::Integer);
  node->operand = parseUnary();
  return finish(node, begin);
}

/// `x[…]`, `x.y`, `x(…)`, any number of times, and then perhaps `else y`.
Expr *Parser::parsePostfix() {
  SourceLoc begin = here();
  Nesting nesting(*this, 0);
  Expr *expr = parsePrimary();
  while (!panicking()) {
    if (at(TokenKind::LeftParen)) {
      nesting.deeper();
      expr = parseCall(expr, begin);
    } else if (at(TokenKind::LeftBracket)) {
      nesting.deeper();
      expr = parseIndex(expr, begin);
    } else if (accept(TokenKind::Dot)) {
      nesting.deeper();
      auto *node = arena->make<MemberExpr>();
      node->base = expr;
      // `where` is a keyword of declarations, and a function that other languages have in a module.
      node->member = at(TokenKind::KwWhere) ? identifier(advance()) : expectName("a name after `.`");
      expr = finish(node, begin);
    } else {
      break;
    }
  }
  if (inNotation || elseIsTaken || !accept(TokenKind::KwElse))
    return expr;
  nesting.deeper();
  auto *node = arena->make<ElseExpr>();
  node->slice = expr;
  node->otherwise = parseUnary();
  return finish(node, begin);
}

Expr *Parser::parsePrimary() {
  SourceLoc begin = here();
  if (panicking())
    return errorExpr();
  switch (current.kind) {
  case TokenKind::Integer:
  case TokenKind::Float:
    return parseNumber();
  case TokenKind::KwTrue:
  case TokenKind::KwFalse: {
    auto *node = arena->make<BoolExpr>();
    node->value = advance().is(TokenKind::KwTrue);
    return finish(node, begin);
  }
  case TokenKind::KwNone:
    advance();
    return make<NoneExpr>(begin);
  case TokenKind::String: {
    auto *node = arena->make<StringExpr>();
    node->value = stringValue(advance());
    return finish(node, begin);
  }
  case TokenKind::Identifier:
    if (current.text == "new" && nextIs(TokenKind::Identifier) && lookahead.text != "then" && !nextIsUpdate())
      return parseNew();
    if (inNotation && nextIs(TokenKind::LeftParen) && isReductionName(current.text))
      return parseReduction(advance());
    [[fallthrough]];
  case TokenKind::KwWhere: { // the function `where(c, x, y)`
    auto *node = arena->make<NameExpr>();
    node->name = std::string(advance().text);
    return finish(node, begin);
  }
  case TokenKind::LeftParen:
    return parseParenthesised();
  case TokenKind::LeftBracket:
    return parseList(TokenKind::LeftBracket, TokenKind::RightBracket);
  case TokenKind::KwIf:
    return parseIf();
  default: // nothing else begins an expression
    reportExpected("an expression");
    return errorExpr();
  }
}

Expr *Parser::parseNumber() {
  SourceLoc begin = here();
  Token token = advance();
  auto *node = arena->make<NumberExpr>();
  node->isFloat = token.is(TokenKind::Float);
  const char *first = token.text.data();
  const char *last = first + token.text.size();
  bool isHex = token.text.starts_with("0x") || token.text.starts_with("0X");
  std::from_chars_result result{};
  if (node->isFloat) {
    result = std::from_chars(first, last, node->value);
  } else {
    result = std::from_chars(isHex ? first + 2 : first, last, node->integer, isHex ? 16 : 10);
    node->value = static_cast<double>(node->integer);
  }
  const bool isLeast = isNegated && token.text == "9223372036854775808";
  isNegated = false;
  if (isLeast) { // its negative, and that of this, is the least integer
    node->integer = std::numeric_limits<int64_t>::min();
    node->value = 0x1p63;
  } else if (result.ec == std::errc::result_out_of_range)
    diagnostics.report(Diag::number_too_large, token.range, token.text);
  else if (result.ec != std::errc() || result.ptr != last)
    diagnostics.report(Diag::malformed_number, token.range, token.text);
  return finish(node, begin);
}

std::string Parser::stringValue(const Token &token) const {
  std::string_view text = token.text.substr(1);
  if (text.ends_with('"'))
    text.remove_suffix(1);
  return std::string(text);
}

Expr *Parser::parseParenthesised() {
  Token open = advance();
  llvm::scope_exit restore([this, saved = elseIsTaken] { elseIsTaken = saved; });
  elseIsTaken = false;
  Expr *inner = parseExpr();
  expectClosing(TokenKind::RightParen, open);
  return inner;
}

Expr *Parser::parseIf() {
  SourceLoc begin = here();
  Nesting nesting(*this);
  advance();
  auto *node = arena->make<IfExpr>();
  llvm::scope_exit restore([this, saved = elseIsTaken] { elseIsTaken = saved; });
  elseIsTaken = true;
  node->condition = parseExpr();
  expectWord("then");
  node->thenValue = parseExpr();
  expect(TokenKind::KwElse);
  elseIsTaken = false;
  node->elseValue = parseExpr();
  return finish(node, begin);
}

Expr *Parser::parseNew() {
  SourceLoc begin = here();
  advance();
  auto *node = arena->make<NewExpr>();
  node->type = expectName("an element type");
  Token open = current;
  if (expect(TokenKind::LeftBracket)) {
    parseSeparated(TokenKind::RightBracket, [&] { node->dims.push_back(parseExpr()); });
    expectClosing(TokenKind::RightBracket, open);
  }
  if (accept(TokenKind::Equal))
    node->fill = parseExpr();
  return finish(node, begin);
}

Expr *Parser::parseCall(Expr *callee, SourceLoc begin) {
  Token open = advance();
  llvm::scope_exit restore([this, saved = elseIsTaken] { elseIsTaken = saved; });
  elseIsTaken = false;
  auto *node = arena->make<CallExpr>();
  node->callee = callee;
  parseSeparated(TokenKind::RightParen, [&] {
    Argument argument{{"", {here(), here()}}, nullptr};
    if (at(TokenKind::Identifier) && nextIs(TokenKind::Equal)) {
      argument.name = identifier(advance());
      advance();
    }
    argument.value = parseExpr();
    node->args.push_back(std::move(argument));
  });
  expectClosing(TokenKind::RightParen, open);
  return finish(node, begin);
}

Expr *Parser::parseIndex(Expr *base, SourceLoc begin) {
  Token open = advance();
  llvm::scope_exit restore([this, saved = elseIsTaken] { elseIsTaken = saved; });
  elseIsTaken = false;
  auto *node = arena->make<IndexExpr>();
  node->base = base;
  parseSeparated(TokenKind::RightBracket, [&] { node->subscripts.push_back(parseSubscript()); });
  if (node->subscripts.empty() && !panicking())
    reportExpected("an index");
  expectClosing(TokenKind::RightBracket, open);
  return finish(node, begin);
}

/// `i`, `:`, `lo:hi`, or `:hi`, whose lo is 0.
Subscript Parser::parseSubscript() {
  SourceLoc begin = here();
  Subscript subscript;
  if (at(TokenKind::Colon)) {
    auto *zero = arena->make<NumberExpr>();
    zero->range = {begin, begin};
    advance();
    if (at(TokenKind::Comma) || at(TokenKind::RightBracket)) {
      subscript.kind = Subscript::All;
    } else {
      subscript.kind = Subscript::Span;
      subscript.first = zero;
      subscript.second = parseExpr();
    }
  } else {
    subscript.first = parseExpr();
    if (accept(TokenKind::Colon)) {
      subscript.kind = Subscript::Span;
      subscript.second = parseExpr();
    }
  }
  subscript.range = rangeSince(begin);
  return subscript;
}

/// At `name ,` or `name in`: in notation, the first arguments of a reduction.
bool Parser::atBinder() const {
  return at(TokenKind::Identifier) && (nextIs(TokenKind::Comma) || nextIs(TokenKind::KwIn));
}

Expr *Parser::parseReduction(const Token &name) {
  Token open = advance();
  llvm::scope_exit restore([this, saved = elseIsTaken] { elseIsTaken = saved; });
  elseIsTaken = false;
  if (!atBinder()) {
    auto *call = arena->make<CallExpr>();
    auto *callee = arena->make<NameExpr>();
    callee->name = std::string(name.text);
    callee->range = name.range;
    call->callee = callee;
    parseSeparated(TokenKind::RightParen, [&] { call->args.push_back({{"", {here(), here()}}, parseExpr()}); });
    expectClosing(TokenKind::RightParen, open);
    return finish(call, name.range.begin);
  }
  auto *node = arena->make<ReductionExpr>();
  node->op = identifier(name);
  while (atBinder()) {
    node->binders.push_back(parseBinder());
    if (!expect(TokenKind::Comma))
      break;
  }
  node->body = parseExpr();
  expectClosing(TokenKind::RightParen, open);
  return finish(node, name.range.begin);
}

Expr *Parser::parseList(TokenKind open, TokenKind close) {
  SourceLoc begin = here();
  Token opening = current;
  auto *node = arena->make<ListExpr>();
  if (expect(open)) {
    parseSeparated(close, [&] { node->elements.push_back(parseExpr()); });
    expectClosing(close, opening);
  }
  return finish(node, begin);
}

/// `lo..hi`, or anything else (a call of `tiles`, which sema checks).
Expr *Parser::parseRange() {
  SourceLoc begin = here();
  Expr *lo = parseExpr();
  if (!accept(TokenKind::DotDot))
    return lo;
  auto *node = arena->make<RangeExpr>();
  node->lo = lo;
  node->hi = parseExpr();
  return finish(node, begin);
}

} // namespace tkc
