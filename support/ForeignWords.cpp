// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks words up in ForeignWords.def, and puts arguments into the text of a call.
#include "support/ForeignWords.h"

namespace tkc {
namespace {

struct Word {
  std::string_view word, here;
};

template <size_t n> std::optional<std::string_view> find(const Word (&words)[n], std::string_view word) {
  for (const Word &row : words)
    if (row.word == word)
      return row.here;
  return std::nullopt;
}

constexpr Word types[] = {
#define TKC_FOREIGN_TYPE(word, type) {word, type},
#include "support/ForeignWords.def"
};
constexpr Word keys[] = {
#define TKC_FOREIGN_KEY(word, key) {word, key},
#include "support/ForeignWords.def"
};
constexpr Word ideas[] = {
#define TKC_FOREIGN_IDEA(word, sentence) {word, sentence},
#include "support/ForeignWords.def"
};
constexpr Word reductions[] = {
#define TKC_FOREIGN_REDUCTION(word, name) {word, name},
#include "support/ForeignWords.def"
};

struct Call {
  std::string_view word;
  size_t arguments;
  std::string_view text;
};
constexpr Call calls[] = {
#define TKC_FOREIGN_CALL(word, arguments, text) {word, arguments, text},
#include "support/ForeignWords.def"
};

/// Whether what stands at `at` of a call's text is an argument of a function by itself, which needs no parentheses.
bool standsAlone(std::string_view text, size_t at) {
  std::string_view before = text.substr(0, at), after = text.substr(at + 2);
  return (before.ends_with('(') || before.ends_with(", ") || before.ends_with("= ")) &&
         (after.starts_with(')') || after.starts_with(','));
}

std::string withArguments(std::string_view text, const std::vector<ForeignArgument> &arguments) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '$') {
      result += text[at];
      continue;
    }
    const ForeignArgument &argument = arguments[static_cast<size_t>(text[at + 1] - '1')];
    const bool isWhole = text.substr(at + 2).empty() && (text.substr(0, at).ends_with("= "));
    const bool isBare = argument.isPlain || isWhole || standsAlone(text, at);
    result += isBare ? argument.text : "(" + argument.text + ")";
    ++at;
  }
  return result;
}

} // namespace

std::optional<std::string_view> foreignType(std::string_view word) { return find(types, word); }
std::optional<std::string_view> foreignKey(std::string_view word) { return find(keys, word); }
std::optional<std::string_view> foreignIdea(std::string_view word) { return find(ideas, word); }

std::optional<std::string> foreignCall(std::string_view word, const std::vector<ForeignArgument> &arguments) {
  // `float(x)` and `x.float()` are casts, and so is `x.to(float)`.
  if (std::optional<std::string_view> type = foreignType(word); type && arguments.size() == 1)
    return std::string(*type) + "(" + arguments[0].text + ")";
  if (std::optional<std::string_view> name = find(reductions, word);
      name && (arguments.size() == 1 || arguments.size() == 2)) {
    const bool isDown = arguments.size() == 2 && (arguments[1].text == "0" || arguments[1].text == "-2");
    return (isDown ? "col" : "row") + std::string(*name) + "(" + arguments[0].text + ")";
  }
  for (const Call &call : calls)
    if (call.word == word && call.arguments == arguments.size()) {
      std::vector<ForeignArgument> written = arguments;
      if (call.text == "$2($1)") // the type, as this language has it
        if (std::optional<std::string_view> type = foreignType(arguments[1].text))
          written[1].text = *type;
      return withArguments(call.text, written);
    }
  return std::nullopt;
}

} // namespace tkc
