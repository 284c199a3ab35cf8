// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that another program makes: a JSON object in, one out, and tensors in memory that both see. A request has
//
//   "call"       the name of a kernel or program
//   "tensors"    by parameter: "type", "dims", and "at", the byte where its elements begin, row-major without gaps; one
//                that is missing is left out
//   "numbers"    by parameter: scalars and consts, as numbers or, where JSON has none, as text ("inf")
//   "reference"  whether its reference is evaluated instead. "values" and "tolerances" of an output then say where its
//                values go, and how far a result may be from each, as f64. "gpu": whether the result is a GPU's
//
// The answer is {"done": true}, after the outputs were written, or {"error": TEXT}, in the words of emitted launchers.
#pragma once

#include "frontend/Sema.h"
#include "harness/Runnables.h"

#include <functional>
#include <optional>
#include <string>

namespace tkc::harness {

class Service {
public:
  /// `memory` gives the bytes that both see, at least so many; null where there are fewer.
  Service(const Module &module, const SourceManager &sources, std::function<char *(uint64_t)> memory)
      : module(module), sources(sources), memory(std::move(memory)) {}

  /// The answer to a request, each one line without its end.
  std::string answer(const std::string &request);

private:
  const Module &module;
  const SourceManager &sources;
  const std::function<char *(uint64_t)> memory;
  const RunOptions options;
  std::optional<Runnables> runnables;
};

} // namespace tkc::harness
