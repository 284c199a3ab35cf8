// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc man`: the page of the manual, in the language of man(7), made from the options' own tables.
#include "tkc/CommandLine.h"
#include "tkc/CommandWords.h"
#include "tkc/Driver.h"
#include "tkc/Version.h"

#include <fmt/ranges.h>

namespace tkc::driver {
namespace {

/// Dashes are to be typed as they stand, and no line begins with what troff takes for a request.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool startsLine = result.empty() || result.back() == '\n';
    if (startsLine && (c == '.' || c == '\''))
      result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

/// As it stands, line by line.
std::string verbatim(std::string_view text) {
  return text.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", escaped(text));
}

std::string entry(const OptionWords &option) {
  const std::string words = escaped(fmt::format("{}", fmt::join(option.words, ", ")));
  const std::string value = option.value.empty() ? "" : "\\fI" + escaped(option.value) + "\\fR";
  const char *gap = words.empty() || value.empty() ? "" : " ";
  return fmt::format(".TP\n\\fB{}\\fR{}{}\n{}\n", words, gap, value, escaped(option.help));
}

std::string entries(const CommandWords &command) {
  std::string text;
  for (const std::vector<OptionWords> *list : {&command.arguments, &command.options})
    for (const OptionWords &option : *list)
      text += entry(option);
  return text;
}

std::string page(const Command &app) {
  const CommandWords root(app);
  std::string text = fmt::format(".TH TKC 1 \"\" \"{}\"\n.SH NAME\ntkc \\- {}\n", escaped(version()),
                                 escaped("GPU kernels from .tk files"));
  text += ".SH SYNOPSIS\n\\fBtkc\\fR [\\fIoptions\\fR] \\fIfile\\fR\n.br\n"
          "\\fBtkc\\fR \\fIcommand\\fR [\\fIoptions\\fR] [\\fIfile\\fR]\n";
  text += fmt::format(".SH DESCRIPTION\n{}\nWithout a command it compiles.\n", escaped(root.help));
  text += ".SH OPTIONS\n" + entries(root) + ".SH COMMANDS\n";
  for (const CommandWords &command : CommandWords::ofSubcommands(app))
    text += fmt::format(".SS \"tkc {}\"\n{}\n{}{}", escaped(command.name), escaped(command.help), entries(command),
                        verbatim(command.footer));
  return text + ".SH NOTES\n" + verbatim(root.footer);
}

} // namespace

void addMan(Command &app, Action &action) {
  Command *command = app.add_subcommand("man", "print the page of the manual, for man");
  command->footer("Examples:\n  tkc man | man -l -                        reads it\n"
                  "  tkc man > ~/.local/share/man/man1/tkc.1   for `man tkc`");
  command->callback([&app, &action] { action = [&app] { return writeOutput("-", page(app)); }; });
}

} // namespace tkc::driver
