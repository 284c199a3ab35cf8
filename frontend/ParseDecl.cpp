// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations.
#include "frontend/ParserImpl.h"

#include <algorithm>
#include <utility>

#include <llvm/ADT/ScopeExit.h>
#include <llvm/Support/Casting.h>

namespace tkc {

using namespace ast;

File Parser::parseFile() {
  File file;
  file.buffer = buffer;
  while (!at(TokenKind::EndOfFile)) {
    if (Decl *decl = parseDecl()) {
      file.decls.push_back(decl);
      addForOthers(file, *decl);
    }
    if (panicking()) {
      // What starts where the error is would be met again.
      if (atDeclaration())
        panic = false;
      else
        synchroniseDeclaration();
    }
  }
  file.comments = lexer.comments();
  file.arena = arena;
  return file;
}

/// A schedule that names several kernels is a schedule of each.
void Parser::addForOthers(File &file, const Decl &decl) {
  for (Identifier &other : std::exchange(otherKernels, {})) {
    auto *node = arena->make<ScheduleDecl>(llvm::cast<ScheduleDecl>(decl));
    node->name = std::move(other);
    file.decls.push_back(node);
  }
}

/// The `///` lines that end right above the current token.
std::string Parser::takeDoc() const {
  const std::vector<Comment> &comments = lexer.comments();
  std::string_view text = diagnostics.sourceManager().text(buffer);
  size_t last = current.commentsSeen;
  size_t first = last;
  size_t below = current.range.begin.offset;
  auto isDoc = [&](const Comment &comment) {
    std::string_view gap = text.substr(comment.range.end.offset, below - comment.range.end.offset);
    return comment.ownLine && text.substr(comment.range.begin.offset).starts_with("///") &&
           std::count(gap.begin(), gap.end(), '\n') == 1;
  };
  while (first > commentsBeforePrevious && isDoc(comments[first - 1]))
    below = comments[--first].range.begin.offset;
  std::string doc;
  for (; first < last; ++first) {
    std::string_view line = diagnostics.sourceManager().text(comments[first].range).substr(3);
    if (line.starts_with(' '))
      line.remove_prefix(1);
    if (!doc.empty())
      doc += '\n';
    doc += line;
  }
  return doc;
}

Decl *Parser::parseDecl() {
  SourceLoc begin = here();
  std::string doc = takeDoc();
  Decl *decl = nullptr;
  if (at(TokenKind::KwKernel))
    decl = parseKernel();
  else if (at(TokenKind::KwFn))
    decl = parseFn();
  else if (at(TokenKind::KwImport))
    decl = parseImport();
  else if (atWord("extern"))
    decl = parseExtern();
  else if (atWord("reference"))
    decl = parseReference();
  else if (atWord("case") || atWord("bench"))
    decl = parseCase();
  else if (atWord("schedule"))
    decl = parseSchedule();
  else if (atWord("gradient"))
    decl = parseGradient();
  else if (atWord("program"))
    decl = parseProgram();
  if (!decl) {
    if (!panicking() && !endedByDepth)
      diagnostics.report(Diag::expected_declaration, current.range, describeCurrent());
    panic = true;
    if (!at(TokenKind::EndOfFile))
      advance();
    return nullptr;
  }
  decl->doc = std::move(doc);
  decl->range = rangeSince(begin);
  return decl;
}

Decl *Parser::parseImport() {
  advance();
  auto *node = arena->make<ImportDecl>();
  node->pathRange = current.range;
  if (at(TokenKind::String))
    node->path = stringValue(advance());
  else
    reportExpected("the path of a file in quotes");
  expectSemicolon("the path");
  return node;
}

// ---- kernels and programs ------------------------------------------------------------------------------------------

std::vector<TypeParam> Parser::parseTypeParams() {
  std::vector<TypeParam> params;
  Token open = current;
  if (!accept(TokenKind::Less))
    return params;
  parseSeparated(TokenKind::Greater, [&] {
    TypeParam param{expectName("a name for the type"), {}};
    expect(TokenKind::Colon);
    Token openChoices = current;
    if (expect(TokenKind::LeftBrace)) {
      parseSeparated(TokenKind::RightBrace, [&] { param.choices.push_back(expectName("an element type")); });
      if (param.choices.empty() && !panicking())
        reportExpected("an element type");
      expectClosing(TokenKind::RightBrace, openChoices);
    }
    params.push_back(std::move(param));
  });
  expectClosing(TokenKind::Greater, open);
  return params;
}

std::vector<Param> Parser::parseParams() {
  std::vector<Param> params;
  Token open = current;
  if (!expect(TokenKind::LeftParen))
    return params;
  parseSeparated(TokenKind::RightParen, [&] { params.push_back(parseParam()); });
  expectClosing(TokenKind::RightParen, open);
  return params;
}

Param Parser::parseParam() {
  SourceLoc begin = here();
  Param param;
  param.isConst = accept(TokenKind::KwConst);
  if (nextIs(TokenKind::Identifier) && (atWord("out") || atWord("inout")))
    param.mode = advance().text == "out" ? ParamMode::Out : ParamMode::InOut;
  param.name = expectName("the name of a parameter");
  expect(TokenKind::Colon);
  param.type = expectName("a type");
  Token open = current;
  if (accept(TokenKind::LeftBracket)) {
    param.isTensor = true;
    parseSeparated(TokenKind::RightBracket, [&] { param.dims.push_back(parseExpr()); });
    expectClosing(TokenKind::RightBracket, open);
    if (param.dims.empty() && !panicking())
      diagnostics.report(Diag::empty_dims, {open.range.begin, previousEnd}, param.name.text, param.type.text);
  }
  if (accept(TokenKind::Equal))
    param.defaultValue = parseExpr();
  param.range = rangeSince(begin);
  return param;
}

/// `where D in {64, 128}, H % G == 0`
template <class Node> void Parser::parseWhere(Node &node) {
  if (!accept(TokenKind::KwWhere))
    return;
  do {
    if (at(TokenKind::Identifier) && nextIs(TokenKind::KwIn)) {
      Identifier name = identifier(advance());
      advance();
      Token open = current;
      std::vector<Expr *> choices;
      if (expect(TokenKind::LeftBrace)) {
        parseSeparated(TokenKind::RightBrace, [&] { choices.push_back(parseExpr()); });
        expectClosing(TokenKind::RightBrace, open);
      }
      node.whereIn.emplace_back(std::move(name), std::move(choices));
      continue;
    }
    node.where.push_back(parseExpr());
    if (!panicking() && at(TokenKind::Equal)) {
      diagnostics.report(Diag::equality_in_condition, current.range).fixIt(current.range, "==");
      panic = true;
    }
  } while (accept(TokenKind::Comma));
}

template <class Node> void Parser::parseCallable(Node &node) {
  advance();
  node.name = expectName("a name");
  node.typeParams = parseTypeParams();
  node.params = parseParams();
  parseWhere(node);
  node.body = blockAfterHeader();
}

Decl *Parser::parseKernel() {
  auto *node = arena->make<KernelDecl>();
  parseCallable(*node);
  return node;
}

Decl *Parser::parseProgram() {
  auto *node = arena->make<ProgramDecl>();
  parseCallable(*node);
  return node;
}

// ---- functions -----------------------------------------------------------------------------------------------------

Decl *Parser::parseFn() {
  llvm::scope_exit restore([this] { inFn = false; });
  inFn = true;
  advance();
  auto *node = arena->make<FnDecl>();
  node->name = expectName("a name");
  Token open = current;
  if (expect(TokenKind::LeftParen)) {
    parseSeparated(TokenKind::RightParen, [&] { node->params.push_back(expectName("the name of a parameter")); });
    expectClosing(TokenKind::RightParen, open);
  }
  SourceLoc begin = here();
  if (!accept(TokenKind::Equal)) {
    node->body = blockAfterHeader();
    return node;
  }
  node->body = arena->make<BlockStmt>();
  auto *result = arena->make<ReturnStmt>();
  SourceLoc valueBegin = here();
  do
    result->values.push_back(parseExpr());
  while (accept(TokenKind::Comma));
  finish(result, valueBegin);
  node->body->stmts.push_back(result);
  expectSemicolon("the function's value");
  finish(node->body, begin);
  return node;
}

Decl *Parser::parseExtern() {
  advance();
  auto *node = arena->make<ExternFnDecl>();
  if (atWord("cuda") || atWord("hip"))
    node->language = identifier(advance());
  else
    reportExpected("`cuda` or `hip`");
  node->headerRange = current.range;
  if (!panicking() && at(TokenKind::String))
    node->header = stringValue(advance());
  else
    reportExpected("the path of a header in quotes");
  expect(TokenKind::KwFn);
  node->name = expectName("the name of the function");
  node->params = parseParams();
  expect(TokenKind::Arrow);
  node->resultType = expectName("the type of the result");
  expectSemicolon("the type of the result");
  return node;
}

// ---- references, cases, schedules, gradients -----------------------------------------------------------------------

IndexBinder Parser::parseBinder() {
  IndexBinder binder{expectName("the name of an index"), nullptr, nullptr};
  if (!accept(TokenKind::KwIn))
    return binder;
  binder.lo = parseExpr();
  expect(TokenKind::DotDot);
  binder.hi = parseExpr();
  return binder;
}

/// `name = e;`, `name[i, j in 0..n] = e;`
Equation Parser::parseEquation() {
  SourceLoc begin = here();
  Equation equation;
  equation.name = expectName("a name");
  Token open = current;
  if (accept(TokenKind::LeftBracket)) {
    parseSeparated(TokenKind::RightBracket, [&] {
      if (!at(TokenKind::Identifier)) {
        if (!panicking())
          diagnostics.report(Diag::equation_index, current.range, describeCurrent());
        panic = true;
        return;
      }
      equation.indices.push_back(parseBinder());
    });
    expectClosing(TokenKind::RightBracket, open);
  }
  expect(TokenKind::Equal);
  equation.value = parseExpr();
  expectSemicolon("the value");
  equation.range = rangeSince(begin);
  return equation;
}

std::vector<Equation> Parser::parseEquations() {
  llvm::scope_exit restore([this] { inNotation = false; });
  inNotation = true;
  std::vector<Equation> equations;
  Token open = current;
  if (!expect(TokenKind::LeftBrace))
    return equations;
  while (!at(TokenKind::RightBrace) && !at(TokenKind::EndOfFile) && !atDeclaration()) {
    if (accept(TokenKind::Semicolon))
      continue;
    equations.push_back(parseEquation());
    if (panicking())
      synchroniseStatement();
  }
  if (!accept(TokenKind::RightBrace) && !endedByDepth && !diagnostics.limitReached())
    diagnostics.report(Diag::unclosed, open.range, open.text);
  return equations;
}

Decl *Parser::parseReference() {
  advance();
  auto *node = arena->make<ReferenceDecl>();
  node->name = expectName("the name of a kernel or program");
  node->equations = parseEquations();
  return node;
}

Decl *Parser::parseCase() {
  auto *node = arena->make<CaseDecl>();
  node->isBench = atWord("bench");
  advance();
  node->name = expectName("the name of a kernel or program");
  node->settings = parseEquations();
  return node;
}

Decl *Parser::parseSchedule() {
  advance();
  auto *node = arena->make<ScheduleDecl>();
  node->name = expectName("the name of a kernel or program");
  while (accept(TokenKind::Comma))
    otherKernels.push_back(expectName("the name of a kernel or program"));
  expect(TokenKind::KwFor);
  node->arch = expectName("an architecture");
  if (acceptWord("when"))
    node->when = parseExpr();
  if (acceptWord("cost"))
    node->cost = node->writtenCost = parseExpr();
  if (!panicking() && node->cost && atWord("when")) {
    diagnostics.report(Diag::when_after_cost, current.range);
    advance();
    node->when = parseExpr();
  }
  if (panicking() && !skipToBlock())
    return node;
  Token open = current;
  if (!expect(TokenKind::LeftBrace))
    return node;
  while (!at(TokenKind::RightBrace) && !at(TokenKind::EndOfFile) && !atDeclaration()) {
    if (accept(TokenKind::Semicolon))
      continue;
    node->settings.push_back(parseSetting());
    expectSemicolon("the value");
    if (panicking())
      synchroniseStatement();
  }
  if (!accept(TokenKind::RightBrace) && !endedByDepth && !diagnostics.limitReached())
    diagnostics.report(Diag::unclosed, open.range, open.text);
  return node;
}

Decl *Parser::parseGradient() {
  advance();
  auto *node = arena->make<GradientDecl>();
  node->name = expectName("the name of a kernel or program");
  expect(TokenKind::Equal);
  node->call = parseExpr();
  if (acceptWord("when"))
    node->when = parseExpr();
  expectSemicolon("the gradient");
  return node;
}

} // namespace tkc
