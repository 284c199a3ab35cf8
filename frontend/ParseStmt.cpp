// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements. An error in the header of a `for` or `if` still reads its block, so that what stands in it is checked.
#include "frontend/ParserImpl.h"

#include <llvm/Support/Casting.h>

namespace tkc {

using namespace ast;

BlockStmt *Parser::parseBlock() {
  SourceLoc begin = here();
  auto *block = arena->make<BlockStmt>();
  Token open = current;
  if (!expect(TokenKind::LeftBrace))
    return finish(block, begin);
  Nesting nesting(*this);
  while (!at(TokenKind::RightBrace) && !at(TokenKind::EndOfFile) && !atDeclaration()) {
    if (accept(TokenKind::Semicolon)) // an empty statement, as after a block
      continue;
    block->stmts.push_back(parseStmt());
    if (panicking())
      synchroniseStatement();
  }
  if (!accept(TokenKind::RightBrace)) {
    if (!endedByDepth && !diagnostics.limitReached())
      diagnostics.report(Diag::unclosed, open.range, open.text);
    synchroniseDeclaration();
  }
  return finish(block, begin);
}

BlockStmt *Parser::blockAfterHeader() {
  if (panicking() && !skipToBlock())
    return make<BlockStmt>(here());
  return parseBlock();
}

Stmt *Parser::parseStmt() {
  switch (current.kind) {
  case TokenKind::LeftBrace:
    return parseBlock();
  case TokenKind::KwTune:
    return parseTune();
  case TokenKind::KwParallel:
    return parseParallel();
  case TokenKind::KwFor:
    return parseFor();
  case TokenKind::KwIf:
    return parseIfStmt();
  case TokenKind::KwLet:
    return parseNamed<LetStmt>("let");
  case TokenKind::KwVar:
    return parseNamed<VarStmt>("var");
  case TokenKind::KwReturn:
    return parseReturn();
  default: // everything else begins with an expression, which says so if it is none
    return parseAssignOrCall();
  }
}

std::pair<Identifier, Expr *> Parser::parseSetting() {
  Identifier name = expectName("a name");
  expect(TokenKind::Equal);
  return {std::move(name), parseExpr()};
}

Stmt *Parser::parseTune() {
  SourceLoc begin = here();
  advance();
  auto *node = arena->make<TuneStmt>();
  do
    node->values.push_back(parseSetting());
  while (accept(TokenKind::Comma));
  expectSemicolon("the values of `tune`");
  return finish(node, begin);
}

Binding Parser::parseBinding() {
  Binding binding{expectName("a name for the index"), nullptr};
  expect(TokenKind::KwIn);
  binding.range = parseRange();
  return binding;
}

Stmt *Parser::parseParallel() {
  SourceLoc begin = here();
  advance();
  auto *node = arena->make<ParallelStmt>();
  do
    node->bindings.push_back(parseBinding());
  while (accept(TokenKind::Comma));
  node->body = blockAfterHeader();
  return finish(node, begin);
}

Stmt *Parser::parseFor() {
  SourceLoc begin = here();
  advance();
  auto *node = arena->make<ForStmt>();
  node->binding = at(TokenKind::LeftParen) ? parseForeignLoop() : parseBinding();
  node->body = blockAfterHeader();
  return finish(node, begin);
}

Stmt *Parser::parseIfStmt() {
  SourceLoc begin = here();
  Nesting nesting(*this); // a chain of `else if` is as deep as it is long
  advance();
  auto *node = arena->make<IfStmt>();
  node->condition = parseExpr();
  if (!panicking() && at(TokenKind::Equal)) {
    diagnostics.report(Diag::equality_in_condition, current.range).fixIt(current.range, "==");
    panic = true;
  }
  node->thenBlock = blockAfterHeader();
  if (accept(TokenKind::KwElse))
    node->elseStmt = at(TokenKind::KwIf) ? parseIfStmt() : parseBlock();
  return finish(node, begin);
}

/// `let a, b = e;` and `var a, b = e;`
template <class Node> Stmt *Parser::parseNamed(std::string_view keyword) {
  SourceLoc begin = here();
  advance();
  auto *node = arena->make<Node>();
  do
    node->names.push_back(expectName("a name"));
  while (accept(TokenKind::Comma));
  if (!panicking() && at(TokenKind::Semicolon)) {
    const Identifier &last = node->names.back();
    diagnostics.report(Diag::let_needs_value, last.range, keyword, keyword, last.text);
    node->value = errorExpr();
    advance();
    return finish(node, begin);
  }
  expect(TokenKind::Equal);
  node->value = parseExpr();
  expectSemicolon("the value");
  return finish(node, begin);
}

Stmt *Parser::parseReturn() {
  SourceLoc begin = here();
  Token keyword = advance();
  auto *node = arena->make<ReturnStmt>();
  do
    node->values.push_back(parseExpr());
  while (accept(TokenKind::Comma));
  expectSemicolon("the returned value");
  if (!inFn && !panicking())
    diagnostics.report(Diag::return_outside_fn, keyword.range);
  return finish(node, begin);
}

namespace {
std::optional<AssignOp> assignOp(TokenKind kind) {
  switch (kind) {
  case TokenKind::Equal:
    return AssignOp::Set;
  case TokenKind::PlusEqual:
    return AssignOp::Add;
  case TokenKind::MinusEqual:
    return AssignOp::Sub;
  case TokenKind::StarEqual:
    return AssignOp::Mul;
  case TokenKind::SlashEqual:
    return AssignOp::Div;
  default: // no assignment
    return std::nullopt;
  }
}
} // namespace

/// `x = e;`, `c[m, n] += e;`, `c[m, n] max= e;`, or a call.
Stmt *Parser::parseAssignOrCall() {
  SourceLoc begin = here();
  Expr *target = parseExpr();
  std::optional<AssignOp> op = assignOp(current.kind);
  const bool extremum = (atWord("max") || atWord("min")) && nextIs(TokenKind::Equal);
  if (panicking())
    return make<ErrorStmt>(begin);
  // A variable may have a name that means something elsewhere, such as `blockIdx` or `double`.
  if (!op && !extremum) {
    if (skipForeignBlock(target))
      return make<ErrorStmt>(begin);
    if (Stmt *variable = parseForeignVariable(target, begin))
      return variable;
  }

  SourceRange opRange = current.range;
  if (extremum) {
    op = current.text == "max" ? AssignOp::Max : AssignOp::Min;
    opRange = {current.range.begin, lookahead.range.end};
    advance();
  }
  if (!op) {
    auto *node = arena->make<ExprStmt>();
    node->expr = target;
    bool isCall = llvm::isa<CallExpr>(target);
    // Where a word follows, as in `int x = 3;`, the word is what is wrong.
    if (!isCall && (at(TokenKind::Semicolon) || current.startsLine))
      diagnostics.report(Diag::statement_without_effect, target->range);
    expectSemicolon(isCall ? "the call" : "the statement");
    return finish(node, begin);
  }

  advance();
  auto *node = arena->make<AssignStmt>();
  node->op = *op;
  node->opRange = opRange;
  node->target = target;
  if (!llvm::isa<NameExpr, IndexExpr, ErrorExpr>(target))
    diagnostics.report(Diag::not_assignable, target->range);
  node->value = parseExpr();
  expectSemicolon("the assigned value");
  return finish(node, begin);
}

} // namespace tkc
