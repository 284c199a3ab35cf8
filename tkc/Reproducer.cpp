// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/Reproducer.h"

#include "ir/plan/PlanIR.h"
#include "support/Diagnostics.h"
#include "support/Files.h"
#include "tkc/Driver.h"
#include "tkc/Version.h"

#include <algorithm>
#include <exception>

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/FileSystem.h>

namespace tkc::driver {
namespace {

/// Of the one run of this process. A crash leaves nothing else to ask.
struct Run {
  std::string command;
  std::string reproducer;
  const SourceManager *sources = nullptr;
} run;

std::string commented(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    result += fmt::format("//   {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string quoted(const std::string &argument) {
  if (!argument.empty() && argument.find_first_of(" \t\n'\"\\$`!*?&|;<>()[]{}#~") == std::string::npos)
    return argument;
  std::string result = "'";
  for (char c : argument)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string textOf(const Bug &bug) {
  std::string text = fmt::format("// A bug in {}.\n{}// The command was:\n{}", version(), commented(bug.message),
                                 commented(run.command));
  if (!bug.ir.empty())
    text += fmt::format("// `tkc THIS_FILE{}` shows it again.\n", bug.arguments.empty() ? "" : " " + bug.arguments);
  if (run.sources)
    for (uint32_t buffer = 1; buffer <= run.sources->numBuffers(); ++buffer)
      text += fmt::format("//\n// {}:\n{}", run.sources->name(buffer), commented(run.sources->text(buffer)));
  return text + bug.ir;
}

/// The file that was written, or an empty string.
std::string write(const Bug &bug) {
  std::string path = run.reproducer, error;
  if (path.empty()) {
    llvm::SmallString<256> unique;
    if (llvm::sys::fs::createTemporaryFile("tkc-bug", bug.extension.empty() ? "txt" : bug.extension, unique))
      return {};
    path = unique.str().str();
  }
  return writeFile(path, textOf(bug), error) ? path : "";
}

} // namespace

int reportBug(const Bug &bug) {
  complain("internal error: " + bug.message);
  if (const std::string path = write(bug); !path.empty())
    sayOnError(
        fmt::format("tkc: note: this is a bug in tkc; a report of it wants the file `{}`, which has the command, "
                    "the sources and the IR\n",
                    path));
  else
    sayOnError("tkc: note: this is a bug in tkc; no file that shows it again could be written\n");
  return InternalError;
}

int reportUnsound(const plan::Plan &plan, const plan::Violation &violation) {
  const std::string place = violation.loc.isValid() ? run.sources->fileLine(violation.loc) + ": " : "";
  return reportBug({fmt::format("{}the plan of `{}` is refused: {}", place, plan.kernel, violation.message), "tkplan",
                    "", plan::print(plan, run.sources)});
}

int catchingBugs(const std::function<int()> &action) {
  int code = InternalError;
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext context;
  const bool survived = context.RunSafely([&] {
    try {
      code = action();
    } catch (const std::exception &exception) {
      code = reportBug({exception.what(), {}, {}, {}});
    }
  });
  // Where it crashed is in no state to be asked; the sources, of which a copy stays, usually tell.
  return survived ? code : reportBug({"tkc crashed", {}, {}, {}});
}

void setCommandLine(int argc, char **argv) {
  run.command.clear();
  for (int i = 0; i < argc; ++i)
    run.command += (i == 0 ? "" : " ") + quoted(argv[i]);
}

void setReproducerPath(const std::string &path) { run.reproducer = path; }
void setSources(const SourceManager *sources) { run.sources = sources; }

} // namespace tkc::driver
