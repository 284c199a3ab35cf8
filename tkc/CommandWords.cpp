// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/CommandWords.h"

#include "tkc/CommandLine.h"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

namespace tkc::driver {

CommandWords::CommandWords(const Command &command) : CommandWords(command.parser()) {}

CommandWords::CommandWords(const CLI::App &app)
    : name(app.get_name()), help(app.get_description()), footer(app.get_footer()) {
  for (const CLI::Option *option : app.get_options()) {
    const bool takesValue = option->get_expected_max() > 0;
    OptionWords entry{{}, takesValue ? option->get_type_name() : "", option->get_description(), takesValue};
    for (const std::string &letter : option->get_snames())
      entry.words.push_back("-" + letter);
    for (const std::string &word : option->get_lnames()) // -MD and -MF are spelled as compilers spell them
      entry.words.push_back((word == "MD" || word == "MF" ? "-" : "--") + word);
    if (!entry.words.empty()) {
      options.push_back(std::move(entry));
    } else {
      entry.value = option->get_name(true);
      arguments.push_back(std::move(entry));
    }
  }
}

std::string CommandWords::allWords() const {
  std::vector<std::string> all;
  for (const OptionWords &option : options)
    all.insert(all.end(), option.words.begin(), option.words.end());
  return fmt::format("{}", fmt::join(all, " "));
}

std::vector<CommandWords> CommandWords::ofSubcommands(const Command &command) {
  std::vector<CommandWords> commands;
  for (const CLI::App *subcommand : command.parser().get_subcommands([](const CLI::App *) { return true; }))
    commands.push_back(CommandWords(*subcommand));
  return commands;
}

} // namespace tkc::driver
