// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/HostSource.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace tkc::emulator {
namespace {

/// Goes through a text from one piece of code to the next.
class Scanner {
public:
  explicit Scanner(std::string_view text) : text(text) {}

  bool isAtEnd() const { return at >= text.size(); }
  size_t position() const { return at; }
  char peek() const { return text[at]; }

  /// Past a word, a comment, a literal, a directive of the preprocessor, or one other character. Returns the word, or
  /// nothing.
  std::string_view next() {
    const size_t begin = at;
    if (isWordCharacter(text[at])) {
      at = std::find_if_not(text.begin() + begin, text.end(), isWordCharacter) - text.begin();
      const std::string_view word = text.substr(begin, at - begin);
      if (!isAtEnd() && text[at] == '"' && word.back() == 'R')
        skipRawString();
      else if (!isAtEnd() && text[at] == '\'' && std::isdigit(static_cast<unsigned char>(word.front())))
        ++at; // between digits
      return word;
    }
    if (text.substr(at, 2) == "//")
      skipLine();
    else if (text.substr(at, 2) == "/*")
      skipPast("*/", at + 2);
    else if (text[at] == '"' || text[at] == '\'')
      skipLiteral();
    else if (text[at] == '#' && isFirstOfLine())
      skipLine();
    else
      ++at;
    return {};
  }

private:
  static bool isWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  bool isFirstOfLine() const {
    const size_t last = at == 0 ? std::string_view::npos : text.find_last_not_of(" \t", at - 1);
    return last == std::string_view::npos || text[last] == '\n';
  }

  void skipPast(std::string_view end, size_t from) {
    const size_t found = text.find(end, from);
    at = found == std::string_view::npos ? text.size() : found + end.size();
  }

  /// To the end of the line, and of those that a backslash joins to it.
  void skipLine() {
    do
      skipPast("\n", at);
    while (!isAtEnd() && at >= 2 && text[at - 2] == '\\');
  }

  void skipLiteral() {
    const char quote = text[at++];
    while (!isAtEnd() && text[at] != quote)
      at += text[at] == '\\' ? 2 : 1;
    ++at;
  }

  /// R"mark( … )mark"
  void skipRawString() {
    const size_t open = text.find('(', at);
    const std::string mark(text.substr(at + 1, open - at - 1));
    skipPast(")" + mark + "\"", open);
  }

  std::string_view text;
  size_t at = 0;
};

} // namespace

void blankKernelBodies(std::string &text) {
  const std::string original = text;
  Scanner scanner(original);
  bool inKernel = false; // since `__global__`
  int parentheses = 0, braces = 0;
  size_t body = 0;
  while (!scanner.isAtEnd()) {
    const size_t at = scanner.position();
    const char first = scanner.peek();
    const std::string_view word = scanner.next();
    if (!inKernel) {
      inKernel = word == "__global__";
      continue;
    }
    if (!word.empty() || scanner.position() != at + 1)
      continue;
    parentheses += (first == '(') - (first == ')');
    if (braces == 0 && parentheses == 0 && first == ';') // a declaration
      inKernel = false;
    if (first == '{' && (braces > 0 || parentheses == 0) && braces++ == 0)
      body = at + 1;
    if (first == '}' && braces > 0 && --braces == 0) {
      std::replace_if(
          text.begin() + static_cast<std::ptrdiff_t>(body), text.begin() + static_cast<std::ptrdiff_t>(at),
          [](char c) { return c != '\n'; }, ' ');
      inKernel = false;
    }
  }
}

} // namespace tkc::emulator
