// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens, expectations and recovery. What is skipped after an error is as little as keeps one mistake one message.
#include "frontend/Parser.h"

#include "frontend/ParserImpl.h"

namespace tkc {

using namespace ast;

namespace {
constexpr unsigned maxDepth = 256;
} // namespace

File parse(uint32_t buffer, DiagnosticEngine &diagnostics) { return Parser(buffer, diagnostics).parseFile(); }

Parser::Parser(uint32_t buffer, DiagnosticEngine &diagnostics)
    : buffer(buffer), diagnostics(diagnostics), lexer(buffer, diagnostics), arena(std::make_shared<Arena>()) {
  current = lexer.next();
  lookahead = lexer.next();
  previousEnd = current.range.begin;
}

Token Parser::advance() {
  Token taken = current;
  previousEnd = current.range.end;
  commentsBeforePrevious = current.commentsSeen;
  current = lookahead;
  if (!lookahead.is(TokenKind::EndOfFile))
    lookahead = lexer.next();
  return taken;
}

bool Parser::accept(TokenKind kind) {
  if (panic || !at(kind))
    return false;
  advance();
  return true;
}

bool Parser::acceptWord(std::string_view word) {
  if (panic || !atWord(word))
    return false;
  advance();
  return true;
}

std::string Parser::describeCurrent() const {
  if (at(TokenKind::EndOfFile))
    return "the end of the file";
  constexpr size_t longest = 40;
  if (current.text.size() > longest)
    return fmt::format("`{}…`", current.text.substr(0, longest));
  return fmt::format("`{}`", current.text);
}

void Parser::reportExpected(std::string_view what) {
  if (!panic && !endedByDepth)
    diagnostics.report(Diag::expected_token, current.range, what, describeCurrent());
  panic = true;
}

bool Parser::expect(TokenKind kind) {
  if (accept(kind))
    return true;
  reportExpected(describe(kind));
  return false;
}

bool Parser::expectWord(std::string_view word) {
  if (acceptWord(word))
    return true;
  reportExpected(fmt::format("`{}`", word));
  return false;
}

void Parser::expectSemicolon(std::string_view after) {
  if (accept(TokenKind::Semicolon) || panic)
    return;
  if (endedByDepth)
    return;
  bool goesOn = current.startsLine || at(TokenKind::RightBrace) || at(TokenKind::EndOfFile);
  if (!goesOn) {
    reportExpected("`;`");
    return;
  }
  SourceRange gap{previousEnd, previousEnd};
  diagnostics.report(Diag::expected_after, gap, "`;`", after).fixIt(gap, ";");
}

bool Parser::expectClosing(TokenKind kind, const Token &open) {
  if (accept(kind))
    return true;
  if (!panic && !endedByDepth) {
    reportExpected(describe(kind));
    diagnostics.report(Diag::note_opened_here, open.range, open.text);
  }
  panic = true;
  return false;
}

Identifier Parser::expectName(std::string_view what) {
  if (!panic && at(TokenKind::Identifier))
    return identifier(advance());
  reportExpected(what);
  return {"", {here(), here()}};
}

// ---- recovery ------------------------------------------------------------------------------------------------------

void Parser::nest(unsigned levels) {
  depth += levels;
  if (depth <= maxDepth || endedByDepth)
    return;
  diagnostics.report(Diag::nested_too_deeply, current.range, maxDepth);
  endedByDepth = true;
  panic = true;
  // The rest of such a file would only repeat the message, so it is not read.
  current.kind = lookahead.kind = TokenKind::EndOfFile;
}

bool Parser::atDeclaration() const {
  if (!current.startsLine)
    return false;
  if (at(TokenKind::KwKernel) || at(TokenKind::KwImport) || at(TokenKind::KwFn))
    return true;
  if (!nextIs(TokenKind::Identifier) || nextIsUpdate())
    return false;
  for (const char *word : {"reference", "case", "bench", "schedule", "gradient", "program", "extern"})
    if (atWord(word))
      return true;
  return false;
}

namespace {
bool opens(TokenKind kind) {
  return kind == TokenKind::LeftParen || kind == TokenKind::LeftBracket || kind == TokenKind::LeftBrace;
}
bool closes(TokenKind kind) {
  return kind == TokenKind::RightParen || kind == TokenKind::RightBracket || kind == TokenKind::RightBrace;
}
} // namespace

void Parser::synchroniseInList(TokenKind close) {
  for (unsigned open = 0; !at(TokenKind::EndOfFile) && !atDeclaration(); advance()) {
    if (open == 0 && (at(TokenKind::Comma) || at(close))) {
      panic = false;
      return;
    }
    if (at(TokenKind::Semicolon) || (open == 0 && closes(current.kind)))
      return;
    if (at(TokenKind::LeftBrace) && close != TokenKind::RightBrace)
      return;
    open += opens(current.kind) ? 1 : 0;
    open -= closes(current.kind) ? 1 : 0;
  }
}

void Parser::synchroniseStatement() {
  unsigned open = 0;
  while (!at(TokenKind::EndOfFile) && !atDeclaration()) {
    if (at(TokenKind::RightBrace)) {
      if (open == 0)
        break;
      advance();
      if (--open == 0)
        break;
      continue;
    }
    if (at(TokenKind::LeftBrace))
      ++open;
    if (advance().is(TokenKind::Semicolon) && open == 0)
      break;
  }
  panic = false;
}

void Parser::synchroniseDeclaration() {
  while (!at(TokenKind::EndOfFile) && !atDeclaration())
    advance();
  panic = false;
}

bool Parser::skipToBlock() {
  while (!at(TokenKind::EndOfFile) && !at(TokenKind::Semicolon) && !at(TokenKind::RightBrace) && !atDeclaration()) {
    if (at(TokenKind::LeftBrace)) {
      panic = false;
      return true;
    }
    advance();
  }
  return false;
}

} // namespace tkc
