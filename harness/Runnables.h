// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels and programs of a module, ready to run on the interpreter.
#pragma once

#include "harness/Expected.h"
#include "harness/RunCases.h"
#include "ir/interpreter/Interpreter.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tkc::harness {

struct Runnable {
  std::function<std::optional<ir::RuntimeError>(CallArguments &)> run;
  std::vector<const ir::Function *> functions; ///< that it runs
  std::vector<ElemType> between;               ///< in which one leaves values for the next

  ErrorModel errorModel(Arithmetic arithmetic = Arithmetic::Exact) const {
    return errorModelOf(functions, arithmetic, between);
  }
};

/// Elaborates each specialisation once.
class Runnables {
public:
  Runnables(const Module &module, const RunOptions &options) : module(module), options(options) {}

  /// Nothing after errors were reported. `tunes` are a kernel's, besides those of the options. What is returned uses
  /// `diagnostics` and this object.
  std::optional<Runnable> prepare(const Subject &subject, const Specialization &specialization,
                                  const std::map<std::string, int64_t> &tunes, DiagnosticEngine &diagnostics);

private:
  struct Elaborated {
    const KernelInfo *kernel;
    Specialization specialization;
    std::map<std::string, int64_t> tunes;
    std::unique_ptr<ir::Function> function;
  };

  std::optional<Runnable> prepareKernel(const KernelInfo &kernel, const Specialization &specialization,
                                        std::map<std::string, int64_t> tunes, DiagnosticEngine &diagnostics);
  std::optional<Runnable> prepareProgram(const ProgramInfo &program, const Specialization &specialization,
                                         DiagnosticEngine &diagnostics);
  const ir::Function *functionFor(const KernelInfo &kernel, const Specialization &specialization,
                                  const std::map<std::string, int64_t> &tunes, DiagnosticEngine &diagnostics);

  const Module &module;
  const RunOptions &options;
  std::vector<Elaborated> functions;
};

} // namespace tkc::harness
