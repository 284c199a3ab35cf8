// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc completion SHELL`: what a shell has to know to complete command lines, made from the options' own tables.
#include "tkc/CommandLine.h"
#include "tkc/CommandWords.h"
#include "tkc/Driver.h"

#include <fmt/ranges.h>

namespace tkc::driver {
namespace {

/// `text` with a backslash before each of `special`, and without what quotes of a shell cannot hold.
std::string escaped(const std::string &text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos)
      result += '\\';
    result += c == '\'' || c == '\n' ? ' ' : c;
  }
  return result;
}

class Script {
public:
  explicit Script(const Command &app) : root(app), commands(CommandWords::ofSubcommands(app)) {
    for (const CommandWords &command : commands)
      names += (names.empty() ? "" : " ") + command.name;
  }

  /// Options where a word begins with a dash, subcommands in the first place; what is left is a file.
  std::string bash() const {
    std::string text = "_tkc() {\n  local word=${COMP_WORDS[COMP_CWORD]} words\n  case ${COMP_WORDS[1]} in\n";
    for (const CommandWords &command : commands)
      text += fmt::format("    {}) words='{}' ;;\n", command.name, command.allWords());
    text += fmt::format("    *) words='{}' ;;\n  esac\n", root.allWords());
    text +=
        fmt::format("  [[ $word == -* ]] || words=\n  [[ $COMP_CWORD != 1 || $word == -* ]] || words='{}'\n", names);
    return text + "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\ncomplete -o default -F _tkc tkc\n";
  }

  std::string zsh() const {
    std::string text = "#compdef tkc\n_tkc() {\n  local -a commands options\n  commands=(\n";
    for (const CommandWords &command : commands)
      text += fmt::format("    '{}:{}'\n", command.name, escaped(command.help, ":"));
    text += "  )\n  case $words[2] in\n";
    for (const CommandWords &command : commands)
      text += fmt::format("    {}) options=(\n{}    ) ;;\n", command.name, zshOptions(command));
    text += fmt::format("    *) options=(\n{}    ) ;;\n  esac\n", zshOptions(root));
    return text + "  (( CURRENT == 2 )) && _describe -t commands command commands\n"
                  "  _arguments $options '*:file:_files'\n}\ncompdef _tkc tkc\n";
  }

  std::string fish() const {
    std::string text;
    for (const CommandWords &command : commands)
      text += fmt::format("complete -c tkc -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                          escaped(command.help, "\\"));
    for (const OptionWords &option : root.options)
      text += fishOption("not __fish_seen_subcommand_from " + names, option);
    for (const CommandWords &command : commands)
      for (const OptionWords &option : command.options)
        text += fishOption("__fish_seen_subcommand_from " + command.name, option);
    return text;
  }

private:
  static std::string zshOptions(const CommandWords &command) {
    std::string text;
    for (const OptionWords &option : command.options)
      for (const std::string &word : option.words)
        text += fmt::format("      '*{}[{}]{}'\n", word, escaped(option.help, "\\[]:"),
                            option.takesValue ? ":value:_files" : "");
    return text;
  }

  static std::string fishOption(const std::string &condition, const OptionWords &option) {
    std::string words;
    for (const std::string &word : option.words)
      words += word.starts_with("--") ? " -l " + word.substr(2)
               : word.size() == 2     ? " -s " + word.substr(1)
                                      : " -o " + word.substr(1);
    return fmt::format("complete -c tkc -n '{}'{}{} -d '{}'\n", condition, words, option.takesValue ? " -r" : "",
                       escaped(option.help, "\\"));
  }

  CommandWords root;
  std::vector<CommandWords> commands;
  std::string names;
};

} // namespace

void addCompletion(Command &app, Action &action) {
  Command *command = app.add_subcommand("completion", "print what completes command lines in a shell");
  static const std::map<std::string, std::string (Script::*)() const> shells{
      {"bash", &Script::bash}, {"fish", &Script::fish}, {"zsh", &Script::zsh}};
  std::vector<std::string> names;
  for (const auto &[name, write] : shells)
    names.push_back(name);
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, fish or zsh")->required()->type_name("")->one_of(names);
  command->footer("Examples:\n  source <(tkc completion bash)             in ~/.bashrc\n"
                  "  source <(tkc completion zsh)              in ~/.zshrc, after compinit\n"
                  "  tkc completion fish | source              in ~/.config/fish/config.fish");
  command->callback([&app, &action, shell] {
    action = [&app, shell] { return writeOutput("-", (Script(app).*shells.at(*shell))()); };
  });
}

} // namespace tkc::driver
