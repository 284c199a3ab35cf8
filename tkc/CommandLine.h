// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands and their options. CLI11 reads the command line, and gave these classes their methods and names; it is a
// library of headers alone, which would cost each source that includes it two seconds, and stands behind one source.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace tkc::driver {

class Option {
public:
  explicit Option(CLI::Option &it) : it(it) {}

  /// What the help calls its value.
  Option *type_name(const std::string &name);
  /// The heading of the help that it stands under; empty: it is not shown.
  Option *group(const std::string &name);
  Option *required();
  /// The help shows the value that it has by now.
  Option *capture_default_str();
  /// Of a list: what stands between the values of one word.
  Option *delimiter(char between);
  /// Of a list: one value each time, as often as one likes.
  Option *one_each_time();
  /// `isShown`: in the help.
  Option *range(int least, int most, bool isShown = true);
  Option *one_of(const std::vector<std::string> &words);
  Option *excludes(const std::string &other);
  Option *excludes(const Option *other);
  Option *needs(const std::string &other);

private:
  CLI::Option &it;
};

class Command {
public:
  explicit Command(CLI::App &app);
  ~Command();
  Command(const Command &) = delete;
  Command &operator=(const Command &) = delete;

  Command *add_subcommand(const std::string &name, const std::string &help);

  Option *add_option(const std::string &words, std::string &value, const std::string &help);
  Option *add_option(const std::string &words, std::vector<std::string> &values, const std::string &help);
  Option *add_option(const std::string &words, std::vector<int> &values, const std::string &help);
  Option *add_option(const std::string &words, int &value, const std::string &help);
  Option *add_option(const std::string &words, unsigned &value, const std::string &help);
  Option *add_option(const std::string &words, int64_t &value, const std::string &help);
  Option *add_option(const std::string &words, uint64_t &value, const std::string &help);
  Option *add_option(const std::string &words, double &value, const std::string &help);
  /// `take` may refuse the value.
  Option *add_option_function(const std::string &words, std::function<void(const std::string &)> take,
                              const std::string &help);
  /// The value is one of a few words; others are refused with the list of these, and the nearest of them.
  template <class Value>
  Option *add_choice(const std::string &words, Value &value, const std::map<std::string, Value> &choices,
                     const std::string &help) {
    std::vector<std::string> names;
    for (const auto &[name, choice] : choices)
      names.push_back(name);
    return add_choice(words, names, [&value, choices](const std::string &name) { value = choices.at(name); }, help);
  }
  Option *add_flag(const std::string &words, bool &value, const std::string &help);
  Option *add_flag_callback(const std::string &words, std::function<void()> then, const std::string &help);

  /// What follows the list of options in the help.
  void footer(const std::string &text);
  /// The heading of the help that it stands under; empty: it is not shown.
  void group(const std::string &name);
  /// Once it was read, of a subcommand that was chosen.
  void callback(std::function<void()> then);
  /// Once all was read.
  void final_callback(std::function<void()> then);
  /// Whether one of its subcommands was chosen.
  bool has_subcommand() const;

  const CLI::App &parser() const { return app; }

protected:
  CLI::App &app;

private:
  Option *add_choice(const std::string &words, const std::vector<std::string> &names,
                     std::function<void(const std::string &)> take, const std::string &help);
  Option *keep(CLI::Option *option);

  std::vector<std::unique_ptr<Command>> commands;
  std::vector<std::unique_ptr<Option>> options;
};

/// What a user of the program writes.
class CommandLine : public Command {
public:
  CommandLine(const std::string &description, const std::string &version);
  ~CommandLine();
  /// Words from the first to the last. An exit code where there is nothing more to do: the help was asked for, or an
  /// error has been told of.
  std::optional<int> parse(std::vector<std::string> words);

private:
  explicit CommandLine(std::unique_ptr<CLI::App> parser);
  std::unique_ptr<CLI::App> own;
};

/// Of a value that `option` cannot have, from where it is taken.
[[noreturn]] void refuseValue(const std::string &option, const std::string &why);

} // namespace tkc::driver
