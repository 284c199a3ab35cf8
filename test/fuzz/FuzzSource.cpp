// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes as a .tk file: lexer, parser and semantic analysis, to the tile IR of the first specialisation.
#include "frontend/Sema.h"
#include "support/Diagnostics.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace {

/// loadModule reads files, so every input is written to one.
const std::string &inputPath() {
  static const std::string path = "/tmp/tkc-fuzz-" + std::to_string(getpid()) + ".tk";
  return path;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  FILE *file = std::fopen(inputPath().c_str(), "wb");
  if (!file)
    std::abort();
  std::fwrite(data, 1, size, file);
  std::fclose(file);

  tkc::SourceManager sources;
  tkc::DiagnosticEngine diagnostics(sources);
  const auto module = tkc::loadModule(inputPath(), {}, sources, diagnostics);
  if (module && !diagnostics.hasErrors() && !module->kernels.empty()) {
    const tkc::KernelInfo &kernel = *module->kernels.front();
    const auto all = tkc::specializations(kernel.signature, kernel.cases);
    if (!all.empty())
      tkc::elaborate(*module, kernel, all.front(), {}, {}, diagnostics);
  }
  for (const tkc::Diagnostic &diagnostic : diagnostics.all())
    sources.render(diagnostic, false);
  return 0;
}
