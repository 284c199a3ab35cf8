// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What can be said on the command line, from the options' own tables: for completion and for the man page.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tkc::driver {

class Command;

struct OptionWords {
  std::vector<std::string> words; ///< "-o", "--output"; of a file or another argument by place none
  std::string value;              ///< "FILE"; empty where it takes none
  std::string help;
  bool takesValue;
};

/// A subcommand, or all that can be said without one.
struct CommandWords {
  std::string name, help, footer;
  std::vector<OptionWords> options;   ///< those that begin with a dash
  std::vector<OptionWords> arguments; ///< by place

  explicit CommandWords(const Command &command);
  static std::vector<CommandWords> ofSubcommands(const Command &command);
  /// Of all options, with spaces between.
  std::string allWords() const;

private:
  explicit CommandWords(const CLI::App &app);
};

} // namespace tkc::driver
