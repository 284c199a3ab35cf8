// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/Driver.h"

#include "support/Files.h"
#include "tkc/Reproducer.h"

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace tkc::driver {

namespace {

bool useColor() { return isatty(2) && !std::getenv("NO_COLOR"); }

std::string counted(size_t count, const char *noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

} // namespace

void complain(const std::string &message) { fmt::print(stderr, "tkc: error: {}\n", message); }

Session::Session(bool verifyDiagnostics) : verifyDiagnostics(verifyDiagnostics) {
  if (verifyDiagnostics) // a test may well be about more than a reader would want to see
    diagnostics.setErrorLimit(10000);
  setSources(&sources);
}

Session::~Session() { setSources(nullptr); }

std::optional<uint32_t> Session::addFile(const std::string &path) {
  std::string error;
  std::optional<std::string> text = readFile(path, error);
  if (!text) {
    complain(fmt::format("cannot read `{}`: {}", path, error));
    return std::nullopt;
  }
  return sources.addBuffer(path == "-" ? "<stdin>" : path, std::move(*text));
}

int Session::finish(int otherwise) {
  if (verifyDiagnostics) {
    std::string differences = checkExpectedDiagnostics(sources, diagnostics);
    fmt::print(stderr, "{}", differences);
    return differences.empty() ? Success : InputErrors;
  }
  bool color = useColor();
  for (const Diagnostic &diagnostic : diagnostics.all())
    fmt::print(stderr, "{}", sources.render(diagnostic, color));
  if (diagnostics.limitReached())
    fmt::print(stderr, "{}, and no more are looked for\n", counted(diagnostics.numKeptErrors(), "error"));
  // An import that cannot be read is an error in the file that asks for it; a file of the command line has no place.
  for (const Diagnostic &diagnostic : diagnostics.all())
    if (!diagnostic.loc.isValid() && diagnostic.id == Diag::cannot_read_file)
      return CannotReadInput;
  return diagnostics.hasErrors() ? static_cast<int>(InputErrors) : otherwise;
}

int Session::finishWith(const std::string &output, std::string_view text) {
  int code = finish();
  return code == Success && !verifyDiagnostics ? writeOutput(output, text) : code;
}

int writeOutput(const std::string &path, std::string_view text) {
  std::string error;
  if (writeFile(path, text, error))
    return Success;
  complain(fmt::format("cannot write `{}`: {}", path, error));
  return CannotWriteOutput;
}

} // namespace tkc::driver
