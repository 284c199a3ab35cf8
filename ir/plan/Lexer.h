// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens of the plan's text form. Names may have dots in them (`ab.full`); `128x64` is a number and a word.
#pragma once

#include "support/Source.h"

#include <cstddef>
#include <string_view>

namespace tkc::plan {

enum class Token : uint8_t { End, Word, Number, String, Punctuation, Unknown };

struct Lexeme {
  Token token = Token::End;
  std::string_view text; ///< a String's with its quotes and escapes
  SourceRange range;
};

class Lexer {
public:
  Lexer(std::string_view text, uint32_t buffer) : text(text), buffer(buffer) {}
  Lexeme next();

private:
  void skipSpaceAndComments();
  void number();
  bool string();
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  std::string_view text;
  uint32_t buffer;
  size_t at = 0;
};

} // namespace tkc::plan
