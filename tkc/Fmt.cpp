// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tkc fmt [--check|-i] FILES`
#include "frontend/Formatter.h"
#include "tkc/CommandLine.h"
#include "tkc/Driver.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

namespace tkc::driver {
namespace {

struct FmtOptions {
  std::vector<std::string> files;
  bool check = false;
  bool inPlace = false;
};

int formatFile(const std::string &path, const FmtOptions &options) {
  Session session;
  std::optional<uint32_t> buffer = session.addFile(path);
  if (!buffer)
    return CannotReadInput;
  std::optional<std::string> text = format(*buffer, session.diagnostics);
  if (!text)
    return session.finish();
  bool isFormatted = *text == session.sources.text(*buffer);
  if (options.check) {
    if (!isFormatted)
      sayOnError(fmt::format("{}: not formatted\n", path));
    return isFormatted ? Success : InputErrors;
  }
  if (!options.inPlace)
    return writeOutput("-", *text);
  return isFormatted ? static_cast<int>(Success) : writeOutput(path, *text);
}

int run(const FmtOptions &options) {
  int worst = Success;
  for (const std::string &file : options.files)
    worst = std::max(worst, formatFile(file, options));
  return worst;
}

} // namespace

void addFmt(Command &app, Action &action) {
  auto options = std::make_shared<FmtOptions>();
  Command *fmt = app.add_subcommand("fmt", "Format .tk and .tks files");
  fmt->add_option("FILES", options->files, "what to format; the result goes to standard output")
      ->required()
      ->type_name("");
  auto *inPlace = fmt->add_flag("-i", options->inPlace, "rewrite the files that change");
  fmt->add_flag("--check", options->check, "write nothing; name the files that would change and exit with 1")
      ->excludes(inPlace);
  fmt->footer("A file with syntax errors is reported and left as it is.\n\nExamples:\n"
              "  tkc fmt -i kernels/*.tk\n  tkc fmt --check kernels/*.tk\n");
  fmt->callback([&action, options] { action = [options] { return run(*options); }; });
}

} // namespace tkc::driver
