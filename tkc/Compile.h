// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `tkc FILE -o OUT` was asked to do.
#pragma once

#include "tkc/Driver.h"

#include <string>
#include <vector>

namespace tkc::driver {

enum class Emit : uint8_t { Ast, Tile };

struct CompileOptions {
  std::string input;
  std::string output = "-";
  Emit emit = Emit::Tile;
  std::vector<std::string> printAfter;
  bool printAfterAll = false;
  std::string stopAfter;
  bool timePasses = false;
  bool verifyEach = false;
  bool verifyDiagnostics = false;
};

/// A .tk file, down to tile IR.
int compileSource(const CompileOptions &options);

/// A .tkir file: tile IR text, on which the passes run. Its result is tile IR.
int compileTileIR(const CompileOptions &options);

} // namespace tkc::driver
