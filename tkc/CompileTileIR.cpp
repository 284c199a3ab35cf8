// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/TileIR.h"
#include "tkc/Compile.h"

namespace tkc::driver {

int compileTileIR(const CompileOptions &options) {
  Session session(options.verifyDiagnostics);
  std::optional<uint32_t> buffer = session.addFile(options.input);
  if (!buffer)
    return CannotReadInput;
  std::vector<std::unique_ptr<ir::Function>> functions = ir::parseTileIR(*buffer, session.diagnostics);
  std::string text;
  if (!session.diagnostics.hasErrors())
    for (const auto &function : functions)
      text += ir::print(*function);
  int code = session.finish();
  return code == Success && !options.verifyDiagnostics ? writeOutput(options.output, text) : code;
}

} // namespace tkc::driver
