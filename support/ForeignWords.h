// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What words of other languages are in this one: the advice that an unknown name gets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tkc {

/// The type of this language, or the schedule key, that `word` stands for elsewhere.
std::optional<std::string_view> foreignType(std::string_view word);
std::optional<std::string_view> foreignKey(std::string_view word);

/// How `word(arguments…)` is written here, with the texts of the arguments put in: `relu(x + 1)` is `max(x + 1, 0)`,
/// `dot(a + b, c)` is `(a + b) @ c`. `isPlain` says of each argument whether it may stand beside an operator as it is.
struct ForeignArgument {
  std::string text;
  bool isPlain;
};
std::optional<std::string> foreignCall(std::string_view word, const std::vector<ForeignArgument> &arguments);

/// A sentence about what takes the place of `word`, where no expression does.
std::optional<std::string_view> foreignIdea(std::string_view word);

} // namespace tkc
