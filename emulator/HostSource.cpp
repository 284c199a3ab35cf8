// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/HostSource.h"

#include <clang/Lex/Lexer.h>

#include <algorithm>

namespace tkc::emulator {
namespace {

/// Where bodies of kernels are, as a file's tokens go by.
class BodyFinder {
public:
  /// Whether this token, which begins at `at`, ends a body: that began at `begin`.
  bool endsBody(const clang::Token &token, size_t at) {
    if (!inKernel) {
      inKernel = token.is(clang::tok::raw_identifier) && token.getRawIdentifier() == "__global__";
      return false;
    }
    parentheses += token.is(clang::tok::l_paren) - token.is(clang::tok::r_paren);
    if (token.is(clang::tok::l_brace) && (braces > 0 || parentheses == 0) && braces++ == 0)
      begin = at + 1;
    const bool ends = token.is(clang::tok::r_brace) && braces > 0 && --braces == 0;
    const bool isDeclaration = token.is(clang::tok::semi) && braces == 0 && parentheses == 0;
    inKernel = !ends && !isDeclaration;
    return ends;
  }

  size_t begin = 0;

private:
  bool inKernel = false; ///< since `__global__`
  int parentheses = 0, braces = 0;
};

} // namespace

void blankKernelBodies(std::string &text) {
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus14 = language.RawStringLiterals = true;
  const char *const first = text.data();
  clang::Lexer lexer(clang::SourceLocation(), language, first, first, first + text.size());
  BodyFinder finder;
  for (clang::Token token; lexer.LexFromRawLexer(token), token.isNot(clang::tok::eof);) {
    if (token.is(clang::tok::hash) && token.isAtStartOfLine())
      for (lexer.setParsingPreprocessorDirective(true); token.isNot(clang::tok::eod);)
        lexer.LexFromRawLexer(token);
    const size_t at = lexer.getBufferLocation() - first - token.getLength();
    if (finder.endsBody(token, at))
      std::replace_if(text.data() + finder.begin, text.data() + at, [](char c) { return c != '\n'; }, ' ');
  }
}

} // namespace tkc::emulator
