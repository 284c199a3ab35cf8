// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tkc leaves behind when it finds a bug of its own: one file with the version, the command line, every source that
// was read, and the IR. Where there is IR, the file is IR itself, with the rest in comments, and shows the bug again.
#pragma once

#include <functional>
#include <string>

namespace tkc {
class SourceManager;
}
namespace tkc::plan {
struct Plan;
struct Violation;
} // namespace tkc::plan

namespace tkc::driver {

struct Bug {
  std::string message;   ///< with the .tk line and the kernel
  std::string extension; ///< "tkir", "tkplan"; empty where there is no IR
  std::string arguments; ///< of the tkc that shows it again, after the file
  std::string ir;        ///< as text: what a broken pass was given, the plan that was refused
};

/// Says what is wrong and where the reproducer is. Returns InternalError.
int reportBug(const Bug &bug);
/// The same of a plan that the verifier refuses though it asks for no more than there is.
int reportUnsound(const plan::Plan &plan, const plan::Violation &violation);

/// Runs `action`, which returns an exit code; a crash or an exception in it becomes a Bug.
int catchingBugs(const std::function<int()> &action);

/// For the reproducer: what the command was, and where it goes; empty: into the folder for temporary files.
void setCommandLine(int argc, char **argv);
void setReproducerPath(const std::string &path);
/// The sources of the run, or null. They outlive a crash.
void setSources(const SourceManager *sources);

/// What `--debug-bug` asks for, so that tests can see what bugs leave behind.
enum class DebugBug : unsigned char { None, Pass, Plan, Attempt, Crash };

} // namespace tkc::driver
