// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/Driver.h"

#include "support/Files.h"
#include "tkc/Reproducer.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace tkc::driver {

namespace {

bool useColor() { return isatty(2) && !std::getenv("NO_COLOR"); }

std::string counted(size_t count, const char *noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

} // namespace

void say(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }
void sayOnError(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void complain(const std::string &message) { sayOnError(fmt::format("tkc: error: {}\n", message)); }

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
    sayOnError(differences);
    return differences.empty() ? Success : InputErrors;
  }
  bool color = useColor();
  for (const Diagnostic &diagnostic : diagnostics.all())
    sayOnError(sources.render(diagnostic, color));
  if (diagnostics.limitReached())
    sayOnError(fmt::format("{}, and no more are looked for\n", counted(diagnostics.numKeptErrors(), "error")));
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
  complain(fmt::format("cannot write {}: {}", path == "-" ? "standard output" : "`" + path + "`", error));
  return CannotWriteOutput;
}

int endOutput(int code) {
  errno = 0;
  if (code != CannotWriteOutput && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    complain(errno == 0 ? "cannot write standard output"
                        : fmt::format("cannot write standard output: {}", std::strerror(errno)));
    code = CannotWriteOutput;
  }
  return std::fflush(stderr) != 0 || std::ferror(stderr) != 0 ? static_cast<int>(CannotWriteOutput) : code;
}

} // namespace tkc::driver
