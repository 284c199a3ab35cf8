// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes as a plan: the parser; what parses without errors prints and parses to the same text again; the verifier
// takes it without harm.
#include "ir/plan/PlanIR.h"
#include "support/Diagnostics.h"

#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tkc::SourceManager sources;
  tkc::DiagnosticEngine diagnostics(sources);
  const std::string text(reinterpret_cast<const char *>(data), size);
  const auto plans = tkc::plan::parsePlan(sources.addBuffer("fuzz.tkplan", text), diagnostics);
  for (const tkc::Diagnostic &diagnostic : diagnostics.all())
    sources.render(diagnostic, false);
  if (diagnostics.hasErrors())
    return 0;
  for (const auto &plan : plans) {
    tkc::DiagnosticEngine again(sources);
    const std::string printed = tkc::plan::print(*plan);
    const auto same = tkc::plan::parsePlan(sources.addBuffer("again.tkplan", printed), again);
    if (again.hasErrors() || same.size() != 1 || tkc::plan::print(*same.front()) != printed)
      std::abort();
    tkc::plan::verify(*plan, {});
  }
  return 0;
}
