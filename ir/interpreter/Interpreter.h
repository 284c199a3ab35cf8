// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes tile IR with the exact rounding of the declared types: the meaning of a program as a thing that can be run.
#pragma once

#include "ir/TileIR.h"
#include "support/Tensor.h"

#include <optional>
#include <string>

namespace tkc::ir {

/// What went wrong, and at which line of the source.
struct RuntimeError {
  SourceLoc loc;
  std::string message;
};

struct InterpretOptions {
  /// Computes whole tiles, as implementations do, with the worst beyond their edges that EdgeAnalysis allows a load to
  /// find there: then the result is right only of a function that mask-edges made ready for it.
  bool padded = false;
};

/// Runs every block of the grid, in parallel on all cores, updating `arguments.tensors` of out and inout parameters
/// (which the caller has allocated; out tensors are filled with NaN or a poison value first). Reports: an index outside
/// a tensor, two blocks storing one element, an element read from an out before it was stored.
std::optional<RuntimeError> interpret(const Function &function, CallArguments &arguments,
                                      const InterpretOptions &options = {});

} // namespace tkc::ir
