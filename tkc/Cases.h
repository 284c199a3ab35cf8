// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the subcommands about the cases of a file have in common: the file itself, numbers that options give to names,
// and how its kernels are planned.
#pragma once

#include "backends/plan/PlanModule.h"
#include "frontend/Sema.h"
#include "harness/RunCases.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tkc::driver {

class Command; // CommandLine.h

class Session;

/// A .tk file with what it imports. Null after errors, which were said: then tkc ends with `code`.
struct Input {
  std::unique_ptr<Module> module;
  int code;
};
Input readInput(const std::string &path, const std::vector<std::string> &scheduleFiles, Session &session);

/// `--size NAME=N,…`
void addSizeOption(Command &command, std::vector<std::string> &sizes);

/// "BM=64" or "causal=true", the values of an option that may stand several times. Complains where one is something
/// else.
std::optional<std::map<std::string, double>> readNumbers(const char *option, const std::vector<std::string> &texts);

/// Takes what `--size` and `--set` give to the cases that are run; false after complaining.
bool takeNumbers(const std::vector<std::string> &sizes, const std::vector<std::string> &settings,
                 harness::RunOptions &options);

/// Whether a kernel or program has each of these names as a dim, a constant or a scalar; complains about the first that
/// none has.
bool sizesAreKnown(const Module &module, const std::map<std::string, double> &sizes);
/// The same of type parameters.
bool typesAreKnown(const Module &module, const std::map<std::string, std::string> &types);

/// Plans for this GPU, of functions on which the passes over tile IR have run. An unsound one ends tkc.
planner::PlanOptions plansFor(const arch::Description &target);

} // namespace tkc::driver
