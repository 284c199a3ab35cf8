// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lexer. Whatever is not a token is reported once for each run of it and skipped.
#include "frontend/Lexer.h"

#include "support/Diagnostics.h"

#include <algorithm>
#include <array>

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/ConvertUTF.h>

namespace tkc {
namespace {

struct FixedToken {
  TokenKind kind;
  std::string_view text;
  std::string_view quoted;
};

constexpr std::array punctuation{
#define TKC_PUNCTUATION(kind, text) FixedToken{TokenKind::kind, text, "`" text "`"},
#include "frontend/Tokens.def"
};
constexpr std::array keywords{
#define TKC_KEYWORD(kind, text) FixedToken{TokenKind::kind, text, "`" text "`"},
#include "frontend/Tokens.def"
};

const FixedToken *fixedToken(TokenKind kind) {
  for (const FixedToken &token : punctuation)
    if (token.kind == kind)
      return &token;
  for (const FixedToken &token : keywords)
    if (token.kind == kind)
      return &token;
  return nullptr;
}

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool isWordStart(char c) { return llvm::isAlpha(c) || c == '_'; }
bool isWord(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Length of the UTF-8 sequence at the start of `text`, 0 where it is none.
unsigned utf8Length(std::string_view text) {
  auto begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  unsigned length = llvm::getNumBytesForUTF8(*begin);
  return length <= text.size() && llvm::isLegalUTF8Sequence(begin, begin + length) ? length : 0;
}

} // namespace

std::string_view spelling(TokenKind kind) {
  const FixedToken *token = fixedToken(kind);
  return token ? token->text : std::string_view();
}

std::string_view describe(TokenKind kind) {
  if (const FixedToken *token = fixedToken(kind))
    return token->quoted;
  if (kind == TokenKind::Identifier)
    return "a name";
  if (kind == TokenKind::Integer || kind == TokenKind::Float)
    return "a number";
  return kind == TokenKind::String ? "a string" : "the end of the file";
}

Lexer::Lexer(uint32_t buffer, DiagnosticEngine &diagnostics)
    : buffer(buffer), text(diagnostics.sourceManager().text(buffer)), diagnostics(diagnostics) {
  if (text.starts_with("\xef\xbb\xbf")) // a byte order mark, as some editors write
    position = 3;
}

SourceRange Lexer::rangeFrom(size_t begin) const {
  return {{buffer, static_cast<uint32_t>(begin)}, {buffer, static_cast<uint32_t>(position)}};
}

void Lexer::skipSpaceAndComments() {
  while (!atEnd()) {
    if (isSpace(peek())) {
      onFreshLine |= peek() == '\n';
      ++position;
    } else if (peek() == '/' && peek(1) == '/') {
      size_t begin = position;
      position = std::min(text.find('\n', position), text.size());
      size_t end = position;
      while (end > begin && isSpace(text[end - 1]))
        --end;
      commentList.push_back(
          {{{buffer, static_cast<uint32_t>(begin)}, {buffer, static_cast<uint32_t>(end)}}, onFreshLine});
    } else {
      return;
    }
  }
}

char Lexer::followingCharacter() const {
  size_t at = position;
  while (at < text.size() && (isSpace(text[at]) || text.substr(at).starts_with("//")))
    at = isSpace(text[at]) ? at + 1 : std::min(text.find('\n', at), text.size());
  return at < text.size() ? text[at] : '\0';
}

Token Lexer::finish(TokenKind kind, size_t begin) {
  Token token{kind, onFreshLine, rangeFrom(begin), text.substr(begin, position - begin), commentList.size()};
  onFreshLine = false;
  return token;
}

Token Lexer::next() {
  while (true) {
    skipSpaceAndComments();
    if (diagnostics.limitReached())
      position = text.size();
    if (atEnd())
      return finish(TokenKind::EndOfFile, position);
    char c = peek();
    if (isWordStart(c))
      return lexWord();
    if (llvm::isDigit(c))
      return lexNumber();
    if (c == '"')
      return lexString();
    if (reportForeignComment())
      continue;
    if (Token token = lexPunctuation(); !token.is(TokenKind::EndOfFile))
      return token;
    reportStrayBytes();
  }
}

Token Lexer::lexWord() {
  size_t begin = position;
  while (!atEnd() && isWord(peek()))
    ++position;
  std::string_view word = text.substr(begin, position - begin);
  for (const FixedToken &keyword : keywords)
    if (keyword.text == word)
      return finish(keyword.kind, begin);
  return finish(TokenKind::Identifier, begin);
}

/// `12`, `0x1f`, `1.5`, `1e-5`. The dots of `0..n` are not the number's.
Token Lexer::lexNumber() {
  size_t begin = position;
  bool isFloat = false;
  bool isHex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
  while (isWord(peek())) {
    bool exponent = !isHex && (peek() == 'e' || peek() == 'E') && (peek(1) == '+' || peek(1) == '-');
    isFloat |= !isHex && (peek() == 'e' || peek() == 'E');
    position += exponent ? 2 : 1;
    if (!isFloat && !isHex && peek() == '.' && llvm::isDigit(peek(1))) {
      isFloat = true;
      ++position;
    }
  }
  if (peek() == '.' && peek(1) != '.' && !isWordStart(peek(1)) && !isFloat && !isHex) { // `1.`
    isFloat = true;
    ++position;
  }
  return finish(isFloat ? TokenKind::Float : TokenKind::Integer, begin);
}

Token Lexer::lexString() {
  size_t begin = position++;
  while (!atEnd() && peek() != '"' && peek() != '\n')
    ++position;
  if (peek() == '"')
    ++position;
  else
    diagnostics.report(Diag::unterminated_string, rangeFrom(begin));
  return finish(TokenKind::String, begin);
}

Token Lexer::lexPunctuation() {
  for (const FixedToken &token : punctuation) {
    if (text.substr(position, token.text.size()) != token.text)
      continue;
    size_t begin = position;
    position += token.text.size();
    return finish(token.kind, begin);
  }
  return Token{};
}

/// Comments as other languages write them: reported, and skipped as what they are.
bool Lexer::reportForeignComment() {
  size_t begin = position;
  auto starts = [&](std::string_view prefix) { return text.substr(position).starts_with(prefix); };
  if (starts("/*")) {
    size_t end = text.find("*/", position + 2);
    position += 2;
    diagnostics.report(Diag::comment_style, rangeFrom(begin), "/* */");
    position = end == std::string_view::npos ? text.size() : end + 2;
    return true;
  }
  if (starts("#")) {
    ++position;
    diagnostics.report(Diag::comment_style, rangeFrom(begin), "#");
    position = std::min(text.find('\n', position), text.size());
    return true;
  }
  return false;
}

/// Reports a run of bytes that begin no token. One message a run, whatever its length.
void Lexer::reportStrayBytes() {
  size_t begin = position;
  unsigned length = utf8Length(text.substr(position));
  bool printable = length > 1 || (length == 1 && llvm::isPrint(peek()));
  if (printable) {
    std::string_view character = text.substr(position, length);
    position += length;
    diagnostics.report(Diag::unexpected_character, rangeFrom(begin), character);
    return;
  }
  bool isUtf8 = length != 0;
  while (!atEnd() && !isSpace(peek())) {
    unsigned here = utf8Length(text.substr(position));
    if (here > 1 || (here == 1 && llvm::isPrint(peek())))
      break;
    isUtf8 &= here != 0;
    ++position;
  }
  diagnostics.report(isUtf8 ? Diag::control_character : Diag::invalid_utf8, rangeFrom(begin));
}

} // namespace tkc
