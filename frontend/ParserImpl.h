// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parser's state, shared by Parse{Expr,Stmt,Decl}.cpp. Recursive descent with one token of look-ahead and panic
// mode: after an error, parse functions return quickly and silently until a list, statement or declaration
// synchronises.
#pragma once

#include "frontend/Lexer.h"
#include "support/Diagnostics.h"

#include <string>

namespace tkc {

class Parser {
public:
  Parser(uint32_t buffer, DiagnosticEngine &diagnostics);
  ast::File parseFile();

private:
  // ---- tokens: Parser.cpp ----
  bool at(TokenKind kind) const { return current.kind == kind; }
  bool atWord(std::string_view word) const { return at(TokenKind::Identifier) && current.text == word; }
  bool nextIs(TokenKind kind) const { return lookahead.kind == kind; }
  /// Whether the `max` or `min` of `x max= y` comes next, where `x` may be a word that begins something elsewhere.
  bool nextIsUpdate() const {
    return (lookahead.text == "max" || lookahead.text == "min") && lexer.followingCharacter() == '=';
  }
  Token advance();
  bool accept(TokenKind kind);
  bool acceptWord(std::string_view word);
  /// Takes `kind` or reports what stands there instead. `after` names what came before, where that helps.
  bool expect(TokenKind kind);
  bool expectWord(std::string_view word);
  /// `;`. Where the next token starts a line or closes the block, reports it missing and reads on.
  void expectSemicolon(std::string_view after);
  /// The closing bracket of `open`.
  bool expectClosing(TokenKind kind, const Token &open);
  ast::Identifier expectName(std::string_view what);
  void reportExpected(std::string_view what);
  std::string describeCurrent() const;
  SourceRange rangeSince(SourceLoc begin) const { return {begin, previousEnd}; }
  SourceLoc here() const { return current.range.begin; }
  static ast::Identifier identifier(const Token &token) { return {std::string(token.text), token.range}; }

  // ---- recovery: Parser.cpp ----
  bool panicking() const { return panic; }
  /// Skips to a `,` or the end of a bracketed list, over nested brackets, and stops panicking there.
  void synchroniseInList(TokenKind close);
  /// Skips past the next `;` or block, or to the `}` that ends this block, or to a declaration.
  void synchroniseStatement();
  void synchroniseDeclaration();
  /// In a statement's header: skips to its `{`, if that comes before the statement's end.
  bool skipToBlock();
  bool atDeclaration() const;

  /// Counts nesting for as long as it lives; too deep, it reports once and ends the file.
  class Nesting {
  public:
    explicit Nesting(Parser &parser, unsigned levels = 1) : parser(parser), levels(levels) { parser.nest(levels); }
    ~Nesting() { parser.depth -= levels; }
    void deeper() { parser.nest(1), ++levels; }

  private:
    Parser &parser;
    unsigned levels;
  };
  void nest(unsigned levels);

  template <class Node> Node *make(SourceLoc begin) {
    Node *node = arena->make<Node>();
    node->range = rangeSince(begin);
    return node;
  }
  template <class Node> Node *finish(Node *node, SourceLoc begin) {
    node->range = rangeSince(begin);
    return node;
  }

  // ---- expressions: ParseExpr.cpp ----
  ast::Expr *parseExpr();
  ast::Expr *parseOr();
  ast::Expr *parseAnd();
  ast::Expr *parseNot();
  ast::Expr *parseComparison();
  ast::Expr *parseArithmetic(int minPrecedence);
  ast::Expr *parseUnary();
  ast::Expr *parsePostfix();
  ast::Expr *parsePrimary();
  ast::Expr *parseNumber();
  ast::Expr *parseIf();
  ast::Expr *parseNew();
  ast::Expr *parseParenthesised();
  ast::Expr *parseCall(ast::Expr *callee, SourceLoc begin);
  ast::Expr *parseIndex(ast::Expr *base, SourceLoc begin);
  ast::Expr *parseReduction(const Token &name);
  bool atBinder() const;
  ast::Subscript parseSubscript();
  ast::Expr *parseList(TokenKind open, TokenKind close);
  ast::Expr *parseRange();
  ast::Expr *errorExpr();
  ast::Expr *binary(ast::BinaryOp op, SourceRange opRange, ast::Expr *lhs, ast::Expr *rhs);
  std::string stringValue(const Token &token) const;
  /// `a, b, c` up to `close`, each by `parseElement`; recovers element by element.
  template <class ParseElement> void parseSeparated(TokenKind close, ParseElement parseElement) {
    while (!at(close) && !at(TokenKind::EndOfFile)) {
      parseElement();
      if (panicking())
        synchroniseInList(close);
      if (panicking() || !accept(TokenKind::Comma))
        return;
    }
  }

  // ---- statements: ParseStmt.cpp ----
  ast::BlockStmt *parseBlock();
  ast::Stmt *parseStmt();
  ast::Stmt *parseTune();
  ast::Stmt *parseParallel();
  ast::Stmt *parseFor();
  ast::Stmt *parseIfStmt();
  template <class Node> ast::Stmt *parseNamed(std::string_view keyword);
  ast::Stmt *parseReturn();
  ast::Stmt *parseAssignOrCall();
  ast::Binding parseBinding();
  std::pair<ast::Identifier, ast::Expr *> parseSetting();
  ast::BlockStmt *blockAfterHeader();

  // ---- syntax of other languages, which is reported: ParseForeign.cpp ----
  std::string textOf(const ast::Expr *expr) const;
  void reportForeign(SourceRange range, const std::string &here);
  ast::Expr *parseForeignChoice(ast::Expr *condition, SourceLoc begin);
  ast::Expr *parseForeignPower(ast::Expr *base, SourceLoc begin);
  ast::Expr *parseForeignStep(ast::Expr *variable, SourceLoc begin);
  ast::Binding parseForeignLoop();
  ast::Stmt *parseForeignVariable(const ast::Expr *first, SourceLoc begin);
  bool skipForeignBlock(const ast::Expr *first);

  // ---- declarations: ParseDecl.cpp ----
  ast::Decl *parseDecl();
  ast::Decl *parseImport();
  ast::Decl *parseKernel();
  ast::Decl *parseProgram();
  template <class Node> void parseCallable(Node &node);
  ast::Decl *parseFn();
  ast::Decl *parseExtern();
  ast::Decl *parseReference();
  ast::Decl *parseCase();
  ast::Decl *parseSchedule();
  void addForOthers(ast::File &file, const ast::Decl &decl);
  ast::Decl *parseGradient();
  std::vector<ast::TypeParam> parseTypeParams();
  std::vector<ast::Param> parseParams();
  ast::Param parseParam();
  template <class Node> void parseWhere(Node &node);
  std::vector<ast::Equation> parseEquations();
  ast::Equation parseEquation();
  ast::IndexBinder parseBinder();
  std::string takeDoc() const;

  uint32_t buffer;
  DiagnosticEngine &diagnostics;
  Lexer lexer;
  std::shared_ptr<ast::Arena> arena;
  std::vector<ast::Identifier> otherKernels; ///< after the first that the schedule just parsed names
  Token current;
  Token lookahead;
  SourceLoc previousEnd;
  size_t commentsBeforePrevious = 0; ///< comments seen when the token before `current` was read
  bool panic = false;
  unsigned depth = 0;
  bool endedByDepth = false;
  bool inFn = false;
  bool inNotation = false;  ///< in a reference or a case: `sum(k, …)` binds, and slices take no `else`
  bool elseIsTaken = false; ///< in the `then` of an `if` expression: its `else` is not a slice's
  bool isNegated = false;   ///< the number that comes next stands after a minus
};

} // namespace tkc
