// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax of C and Python that this language writes in another way: each form is read whole, so that one error says how.
#include "frontend/ParserImpl.h"
#include "support/ElemType.h"
#include "support/ForeignWords.h"

#include <llvm/Support/Casting.h>

namespace tkc {

using namespace ast;

std::string Parser::textOf(const Expr *expr) const {
  return std::string(diagnostics.sourceManager().text(expr->range));
}

void Parser::reportForeign(SourceRange range, const std::string &here) {
  const std::string there(diagnostics.sourceManager().text(range));
  diagnostics.report(Diag::foreign_call, range, there, here).fixIt(range, here);
  panic = true;
}

/// `c ? x : y`
Expr *Parser::parseForeignChoice(Expr *condition, SourceLoc begin) {
  advance();
  Expr *x = parseExpr();
  if (!panicking() && accept(TokenKind::Colon)) {
    Expr *y = parseExpr();
    if (!panicking())
      reportForeign(rangeSince(begin), "where(" + textOf(condition) + ", " + textOf(x) + ", " + textOf(y) + ")");
  } else if (!panicking()) {
    reportExpected("`:`");
  }
  return errorExpr();
}

/// `x ** y`, at the second star.
Expr *Parser::parseForeignPower(Expr *base, SourceLoc begin) {
  advance();
  Expr *exponent = parseUnary();
  if (panicking())
    return errorExpr();
  auto *number = llvm::dyn_cast<NumberExpr>(exponent);
  const std::string x = textOf(base);
  reportForeign(rangeSince(begin),
                number && number->value == 2 ? x + " * " + x : "exp2(" + textOf(exponent) + " * log2(" + x + "))");
  return errorExpr();
}

/// `i++`, at the second plus; `i--` likewise.
Expr *Parser::parseForeignStep(Expr *variable, SourceLoc begin) {
  const bool isUp = advance().is(TokenKind::Plus);
  reportForeign(rangeSince(begin), textOf(variable) + (isUp ? " += 1" : " -= 1"));
  return errorExpr();
}

/// `(int i = lo; i < hi; i++)` behind `for`. What the steps do is not looked at where they are not by one.
Binding Parser::parseForeignLoop() {
  Token open = advance();
  if (at(TokenKind::Identifier) && nextIs(TokenKind::Identifier))
    advance();
  Identifier name = expectName("a name for the index");
  expect(TokenKind::Equal);
  Expr *lo = parseExpr();
  expect(TokenKind::Semicolon);
  auto *condition = llvm::dyn_cast<BinaryExpr>(parseExpr());
  if (panicking() || !condition || condition->op != BinaryOp::Lt) {
    reportExpected("a range as in `for i in lo..hi`");
    return {name, errorExpr()};
  }
  while (!at(TokenKind::RightParen) && !at(TokenKind::LeftBrace) && !at(TokenKind::EndOfFile))
    advance();
  accept(TokenKind::RightParen);
  const std::string first = textOf(lo), last = textOf(condition->rhs);
  diagnostics.report(Diag::foreign_loop, rangeSince(open.range.begin), name.text, first, last)
      .fixIt(rangeSince(open.range.begin), name.text + " in " + first + ".." + last);
  panic = true;
  return {name, errorExpr()};
}

/// `int i = 0;`, at `i`: read as `var i = 0;`. Null where `first` is no type, or no name follows.
Stmt *Parser::parseForeignVariable(const Expr *first, SourceLoc begin) {
  auto *word = llvm::dyn_cast<NameExpr>(first);
  if (!word || !at(TokenKind::Identifier) || !(foreignType(word->name) || parseElemType(word->name)))
    return nullptr;
  diagnostics.report(Diag::foreign_variable, word->range).fixIt(word->range, "var");
  auto *node = arena->make<VarStmt>();
  node->names.push_back(expectName("a name"));
  expect(TokenKind::Equal);
  node->value = parseExpr();
  expectSemicolon("the value");
  return finish(node, begin);
}

/// `while (c) { … }`, at its block, which is passed over. False where `first` is no such word.
bool Parser::skipForeignBlock(const Expr *first) {
  auto *call = llvm::dyn_cast<CallExpr>(first);
  auto *word = llvm::dyn_cast<NameExpr>(call ? call->callee : first);
  std::optional<std::string_view> idea = word ? foreignIdea(word->name) : std::nullopt;
  if (!idea || at(TokenKind::Semicolon))
    return false;
  diagnostics.report(Diag::foreign_idea, word->range, word->name, *idea);
  panic = true;
  if (skipToBlock())
    parseBlock();
  return true;
}

} // namespace tkc
