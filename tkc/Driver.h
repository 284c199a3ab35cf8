// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the subcommands share: exit codes, the sources and diagnostics of a run, and how both end.
#pragma once

#include "support/Diagnostics.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tkc::driver {

class Command; // CommandLine.h

/// docs/cli.md lists these; 66, 70 and 73 are those of sysexits.h.
enum ExitCode : int {
  Success = 0,
  InputErrors = 1,       ///< the input was read and is wrong, or a check on it failed
  Usage = 2,             ///< the command line is wrong
  CannotReadInput = 66,  ///< EX_NOINPUT
  InternalError = 70,    ///< EX_SOFTWARE: a bug in tkc
  CannotWriteOutput = 73 ///< EX_CANTCREAT
};

/// One run of tkc over its inputs.
class Session {
  // Not in the stack's frame, so that a crash leaves it to the reproducer.
  std::unique_ptr<SourceManager> ownSources = std::make_unique<SourceManager>();

public:
  SourceManager &sources = *ownSources;
  DiagnosticEngine diagnostics{sources};
  bool verifyDiagnostics;

  explicit Session(bool verifyDiagnostics = false);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  /// Reads a file given on the command line. On failure says so on standard error and returns nothing.
  std::optional<uint32_t> addFile(const std::string &path);
  /// Prints the diagnostics (or checks them against the comments) and returns `otherwise` or InputErrors.
  int finish(int otherwise = Success);
  /// The same, and writes `text` if there were no errors.
  int finishWith(const std::string &output, std::string_view text);
};

/// On standard output, and on standard error. What cannot be written endOutput tells of.
void say(std::string_view text);
void sayOnError(std::string_view text);
/// "tkc: error: MESSAGE" on standard error.
void complain(const std::string &message);
/// Writes the file or complains.
int writeOutput(const std::string &path, std::string_view text);
/// Writes out what was said. The exit code of the run: `code`, or that something could not be written.
int endOutput(int code);

/// Compares what was reported with `// expected-error@+1 {{text}}` comments (also -warning, -note) in every buffer of
/// the session. Returns one line for each diagnostic that is missing and each that is unexpected.
std::string checkExpectedDiagnostics(const SourceManager &sources, const DiagnosticEngine &diagnostics);

/// What a subcommand does once the command line was read. Left empty by all but the one chosen.
using Action = std::function<int()>;

// Each adds its options to the parser; the chosen one sets `action`. One file a subcommand.
void addCompile(Command &app, Action &action);
void addArch(Command &app, Action &action);
void addCompletion(Command &app, Action &action);
void addMan(Command &app, Action &action);
void addExplain(Command &app, Action &action);
void addFmt(Command &app, Action &action);
void addSchedule(Command &app, Action &action);
void addServe(Command &app, Action &action);
void addTest(Command &app, Action &action);
void addBench(Command &app, Action &action);
void addProfile(Command &app, Action &action);
void addTune(Command &app, Action &action);

} // namespace tkc::driver
