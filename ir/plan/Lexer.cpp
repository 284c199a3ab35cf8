// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plan/Lexer.h"

#include <algorithm>

namespace tkc::plan {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isWord(char c) { return isWordStart(c) || isDigit(c); }

} // namespace

void Lexer::skipSpaceAndComments() {
  while (at < text.size()) {
    if (text.substr(at, 2) == "//")
      at = std::min(text.find('\n', at), text.size());
    else if (std::string_view(" \n\t\r").find(text[at]) != std::string_view::npos)
      ++at;
    else
      return;
  }
}

void Lexer::number() {
  auto digits = [&] {
    while (isDigit(peek()))
      ++at;
  };
  digits();
  if (peek() == '.' && isDigit(peek(1))) {
    ++at;
    digits();
  }
  bool sign = peek(1) == '-' || peek(1) == '+';
  if (peek() == 'e' && (isDigit(peek(1)) || (sign && isDigit(peek(2))))) {
    at += sign ? 2 : 1;
    digits();
  }
}

/// False where the quote is not closed.
bool Lexer::string() {
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      return ++at, true;
  }
  at = std::min(at, text.size());
  return false;
}

Lexeme Lexer::next() {
  skipSpaceAndComments();
  size_t start = at;
  Token token = Token::End;
  if (at < text.size()) {
    char c = text[at];
    if (isWordStart(c)) {
      token = Token::Word;
      while (isWord(peek()) || (peek() == '.' && isWord(peek(1))))
        ++at;
    } else if (isDigit(c)) {
      token = Token::Number;
      number();
    } else if (c == '"') {
      token = string() ? Token::String : Token::Unknown;
    } else {
      token = Token::Punctuation;
      std::string_view two = text.substr(at, 2);
      if (two == ".." || two == "->" || two == "<-" || two == "+=")
        at += 2;
      else if (std::string_view("{}[]()<>,:=-+*/%.@").find(c) != std::string_view::npos)
        ++at;
      else
        ++at, token = Token::Unknown;
    }
  }
  auto loc = [&](size_t offset) { return SourceLoc{buffer, static_cast<uint32_t>(offset)}; };
  return {token, text.substr(start, at - start), {loc(start), loc(at)}};
}

} // namespace tkc::plan
