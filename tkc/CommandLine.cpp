// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/CommandLine.h"

#include "support/NearestName.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/ranges.h>

namespace tkc::driver {

Option *Option::type_name(const std::string &name) {
  it.type_name(name);
  return this;
}

Option *Option::group(const std::string &name) {
  it.group(name);
  return this;
}

Option *Option::required() {
  it.required();
  return this;
}

Option *Option::capture_default_str() {
  it.capture_default_str();
  return this;
}

Option *Option::delimiter(char between) {
  it.delimiter(between);
  return this;
}

Option *Option::one_each_time() {
  it.expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return this;
}

Option *Option::range(int least, int most, bool isShown) {
  CLI::Validator range = CLI::Range(least, most);
  it.check(isShown ? range : range.description(""));
  return this;
}

Option *Option::one_of(const std::vector<std::string> &words) {
  it.check(CLI::IsMember(words));
  return this;
}

Option *Option::excludes(const std::string &other) {
  it.excludes(other);
  return this;
}

Option *Option::excludes(const Option *other) {
  it.excludes(&other->it);
  return this;
}

Option *Option::needs(const std::string &other) {
  it.needs(other);
  return this;
}

Command::Command(CLI::App &app) : app(app) {}
Command::~Command() = default;

Command *Command::add_subcommand(const std::string &name, const std::string &help) {
  return commands.emplace_back(std::make_unique<Command>(*app.add_subcommand(name, help))).get();
}

Option *Command::keep(CLI::Option *option) { return options.emplace_back(std::make_unique<Option>(*option)).get(); }

Option *Command::add_option(const std::string &words, std::string &value, const std::string &help) {
  return keep(app.add_option(words, value, help));
}
Option *Command::add_option(const std::string &words, std::vector<std::string> &values, const std::string &help) {
  return keep(app.add_option(words, values, help));
}
Option *Command::add_option(const std::string &words, std::vector<int> &values, const std::string &help) {
  return keep(app.add_option(words, values, help));
}
Option *Command::add_option(const std::string &words, int &value, const std::string &help) {
  return keep(app.add_option(words, value, help));
}
Option *Command::add_option(const std::string &words, unsigned &value, const std::string &help) {
  return keep(app.add_option(words, value, help));
}
Option *Command::add_option(const std::string &words, int64_t &value, const std::string &help) {
  return keep(app.add_option(words, value, help));
}
Option *Command::add_option(const std::string &words, uint64_t &value, const std::string &help) {
  return keep(app.add_option(words, value, help));
}
Option *Command::add_option(const std::string &words, double &value, const std::string &help) {
  return keep(app.add_option(words, value, help));
}

Option *Command::add_option_function(const std::string &words, std::function<void(const std::string &)> take,
                                     const std::string &help) {
  return keep(app.add_option_function<std::string>(words, std::move(take), help));
}

Option *Command::add_choice(const std::string &words, const std::vector<std::string> &names,
                            std::function<void(const std::string &)> take, const std::string &help) {
  const auto whyNot = [names](const std::string &word) -> std::string {
    if (std::find(names.begin(), names.end(), word) != names.end())
      return {};
    const std::optional<std::string> near = nearestName(word, names);
    return fmt::format("`{}` is none of {}{}", word, fmt::join(names, ", "),
                       near ? fmt::format("; did you mean `{}`?", *near) : "");
  };
  return keep(app.add_option_function<std::string>(words, std::move(take), help)->check(whyNot, "", "choice"));
}

Option *Command::add_flag(const std::string &words, bool &value, const std::string &help) {
  return keep(app.add_flag(words, value, help));
}

Option *Command::add_flag_callback(const std::string &words, std::function<void()> then, const std::string &help) {
  return keep(app.add_flag_callback(words, std::move(then), help));
}

void Command::footer(const std::string &text) { app.footer(text); }
void Command::group(const std::string &name) { app.group(name); }
void Command::callback(std::function<void()> then) { app.callback(std::move(then)); }
void Command::final_callback(std::function<void()> then) { app.final_callback(std::move(then)); }
bool Command::has_subcommand() const { return !app.get_subcommands().empty(); }

CommandLine::CommandLine(const std::string &description, const std::string &version)
    : CommandLine(std::make_unique<CLI::App>(description, "tkc")) {
  app.set_version_flag("--version", version);
  app.get_formatter()->column_width(34);
}

CommandLine::CommandLine(std::unique_ptr<CLI::App> parser) : Command(*parser), own(std::move(parser)) {}
CommandLine::~CommandLine() = default;

std::optional<int> CommandLine::parse(std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError &error) {
    return app.exit(error);
  }
  return std::nullopt;
}

void refuseValue(const std::string &option, const std::string &why) { throw CLI::ValidationError(option, why); }

} // namespace tkc::driver
