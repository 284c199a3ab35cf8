// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of which the value is one of a few words.
#pragma once

#include "support/NearestName.h"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>
#include <map>
#include <string>
#include <vector>

namespace tkc::driver {

/// Turns a word into what it stands for; others are refused with the list of words, and the nearest of them.
template <class Value> CLI::Validator oneOf(const std::map<std::string, Value> &choices) {
  const auto turn = [choices](std::string &word) -> std::string {
    if (const auto found = choices.find(word); found != choices.end()) {
      word = std::to_string(static_cast<int>(found->second));
      return {};
    }
    std::vector<std::string> words;
    for (const auto &[choice, value] : choices)
      words.push_back(choice);
    const std::optional<std::string> near = nearestName(word, words);
    return fmt::format("`{}` is none of {}{}", word, fmt::join(words, ", "),
                       near ? fmt::format("; did you mean `{}`?", *near) : "");
  };
  return {turn, "", "choice"};
}

} // namespace tkc::driver
