// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/Sema.h"
#include "ir/Verifier.h"
#include "tkc/Compile.h"

namespace tkc::driver {

/// Every specialisation of every kernel that the file itself declares. Reports as many errors as there are.
static std::vector<std::unique_ptr<ir::Function>> elaborateAll(const Module &module, DiagnosticEngine &diagnostics) {
  std::vector<std::unique_ptr<ir::Function>> functions;
  for (size_t i = 0; i < module.numMainKernels; ++i) {
    const KernelInfo &kernel = *module.kernels[i];
    for (const Specialization &specialization : specializations(kernel.signature, kernel.cases))
      if (auto function = elaborate(module, kernel, specialization, {}, diagnostics))
        functions.push_back(std::move(function));
  }
  return functions;
}

int compileSource(const CompileOptions &options) {
  Session session(options.verifyDiagnostics);
  std::unique_ptr<Module> module = loadModule(options.input, {}, session.sources, session.diagnostics);
  if (module->files.empty()) {
    session.finish();
    return CannotReadInput;
  }
  std::string text;
  for (const auto &function : elaborateAll(*module, session.diagnostics)) {
    for (const ir::VerifyError &broken : ir::verify(*function)) {
      complain(fmt::format("internal: the tile IR of `{}` at {} is unsound: {}", function->kernel,
                           session.sources.fileLine(broken.loc), broken.message));
      return InternalError;
    }
    text += ir::print(*function);
  }
  int code = session.finish();
  return code == Success && !options.verifyDiagnostics ? writeOutput(options.output, text) : code;
}

} // namespace tkc::driver
