// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes as tile IR: parser and verifier; what parses without errors prints and parses again; what is sound stays so
// through every pass.
#include "ir/TileIR.h"
#include "ir/passes/PassManager.h"
#include "ir/passes/Pipeline.h"
#include "support/Diagnostics.h"

#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tkc::SourceManager sources;
  tkc::DiagnosticEngine diagnostics(sources);
  const std::string text(reinterpret_cast<const char *>(data), size);
  const auto functions = tkc::ir::parseTileIR(sources.addBuffer("fuzz.tkir", text), diagnostics);
  for (const tkc::Diagnostic &diagnostic : diagnostics.all())
    sources.render(diagnostic, false);
  if (diagnostics.hasErrors())
    return 0;
  for (const auto &function : functions) {
    tkc::DiagnosticEngine again(sources);
    tkc::ir::parseTileIR(sources.addBuffer("again.tkir", tkc::ir::print(*function)), again);
    if (again.hasErrors())
      std::abort();
    if (!tkc::ir::verify(*function).empty())
      continue;
    tkc::ir::PassOptions options;
    options.verifyEach = true;
    if (tkc::ir::runPasses(*function, tkc::ir::tilePipeline(), options).internalError)
      std::abort();
  }
  return 0;
}
