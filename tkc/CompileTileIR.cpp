// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile IR as text, through passes, to tile IR as text: how each pass is tested by itself.
#include "ir/Verifier.h"
#include "tkc/Compile.h"

namespace tkc::driver {

int compileTileIR(const CompileOptions &options) {
  if (!passNamesAreKnown(options))
    return Usage;
  Session session(options.verifyDiagnostics);
  std::optional<uint32_t> buffer = session.addFile(options.input);
  if (!buffer)
    return CannotReadInput;
  std::vector<std::unique_ptr<ir::Function>> functions = ir::parseTileIR(*buffer, session.diagnostics);
  for (const auto &function : functions)
    for (const ir::VerifyError &error : ir::verify(*function))
      session.diagnostics.report(Diag::ir_unsound, {error.loc, error.loc}, error.message);
  std::string text;
  if (!session.diagnostics.hasErrors()) {
    PassRunner runner(options, session.sources);
    for (const auto &function : functions) {
      if (!runner.run(*function))
        return InternalError;
      text += ir::print(*function);
    }
    runner.finish();
  }
  return session.finishWith(options.output, text);
}

} // namespace tkc::driver
