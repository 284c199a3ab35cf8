// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `tkc FILE -o OUT` was asked to do, and the stages that do it.
#pragma once

#include "ir/TileIR.h"
#include "ir/passes/PassManager.h"
#include "tkc/Driver.h"
#include "tkc/Reproducer.h"

#include <string>
#include <vector>

namespace tkc::driver {

enum class Emit : uint8_t { Ast, Tile, Program, Plan, Cuda, Header, Ffi, Signatures, Explanation };

struct CompileOptions {
  std::string input;
  std::vector<std::string> scheduleFiles; ///< .tks
  std::string output = "-";
  std::string header; ///< where declarations of the entries go, too; empty: nowhere
  Emit emit = Emit::Cuda;
  std::string arch = "sm_90a";
  std::vector<std::string> settings; ///< KEY=VALUE of --set
  std::vector<std::string> kernels;  ///< empty: all
  std::vector<std::string> passes;   ///< instead of the pipeline; .tkir files only
  std::vector<std::string> printAfter;
  bool printAfterAll = false;
  std::string stopAfter;
  bool timePasses = false;
  bool verifyEach = false;
  bool verifyDiagnostics = false;
  bool writeDependencies = false;
  std::string dependencyFile; ///< empty: the output's name and .d
  bool printPipeline = false;
  bool standalone = false;
  bool instrument = false; ///< kernels record what each role does when
  DebugBug debugBug = DebugBug::None;
};

/// Runs passes over the functions of a compilation and does what the --print, --time and --stop options ask for. Its
/// output is for standard error, where it does not mix with the result.
class PassRunner {
public:
  /// `passes` empty: the pipeline.
  PassRunner(const CompileOptions &options, const SourceManager &sources);

  /// False after a bug in tkc was found and reported.
  bool run(ir::Function &function);
  /// The table of --time-passes.
  void finish() const;

private:
  bool isSound(const ir::Function &function, const std::string &after);
  void reportBroken(const ir::Function &function, SourceLoc loc, const std::string &what, std::string ir,
                    const std::string &pass) const;

  const CompileOptions &options;
  const SourceManager &sources;
  std::vector<const ir::PassInfo *> passes;
  std::vector<ir::PassReport::Time> times;
};

/// Whether every pass that the options name exists; complains about the first that does not.
bool passNamesAreKnown(const CompileOptions &options);

/// A .tk file.
int compileSource(const CompileOptions &options);
/// A .tkplan file: plan IR text, which is verified.
int compilePlan(const CompileOptions &options);
/// A .tkir file: tile IR text, on which the passes run. Its result is tile IR.
int compileTileIR(const CompileOptions &options);

} // namespace tkc::driver
