// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From text to tokens, one at a time, with the comments kept aside.
#pragma once

#include "frontend/AST.h"

#include <string_view>

namespace tkc {
class DiagnosticEngine;

enum class TokenKind : uint8_t {
  EndOfFile,
  Identifier,
  Integer,
  Float,
  String,
#define TKC_PUNCTUATION(kind, text) kind,
#define TKC_KEYWORD(kind, text) kind,
#include "frontend/Tokens.def"
};

/// "`;`", "a name", "the end of the file": for messages.
std::string_view describe(TokenKind kind);
/// The fixed text of punctuation and keywords, else empty.
std::string_view spelling(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::EndOfFile;
  bool startsLine = false; ///< nothing but space before it on its line
  SourceRange range;
  std::string_view text;   ///< in the buffer; of a string with its quotes
  size_t commentsSeen = 0; ///< how many comments of the file stand before it

  bool is(TokenKind other) const { return kind == other; }
};

/// Lexical errors are reported and skipped, so every token is well-formed. After the engine's limit of errors the rest
/// of the file reads as its end.
class Lexer {
public:
  Lexer(uint32_t buffer, DiagnosticEngine &diagnostics);

  Token next();
  /// What comes after the last token, over space and comments; 0 at the end.
  char followingCharacter() const;
  const std::vector<ast::Comment> &comments() const { return commentList; }

private:
  bool atEnd() const { return position >= text.size(); }
  char peek(size_t ahead = 0) const { return position + ahead < text.size() ? text[position + ahead] : '\0'; }
  SourceRange rangeFrom(size_t begin) const;

  void skipSpaceAndComments();
  void reportStrayBytes();
  bool reportForeignComment();
  Token finish(TokenKind kind, size_t begin);
  Token lexWord();
  Token lexNumber();
  Token lexString();
  Token lexPunctuation();

  uint32_t buffer;
  std::string_view text;
  DiagnosticEngine &diagnostics;
  size_t position = 0;
  bool onFreshLine = true; ///< nothing but space since the line's start
  std::vector<ast::Comment> commentList;
};

} // namespace tkc
