// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plan IR as text: parsed, verified, printed.
#include "ir/plan/PlanIR.h"
#include "tkc/Compile.h"
#include "tkc/Targets.h"

namespace tkc::driver {

int compilePlan(const CompileOptions &options) {
  Session session(options.verifyDiagnostics);
  std::optional<uint32_t> buffer = session.addFile(options.input);
  if (!buffer)
    return CannotReadInput;
  std::string text;
  for (const auto &plan : plan::parsePlan(*buffer, session.diagnostics)) {
    // A plan for a GPU that is not known is held against what --arch allows.
    const arch::Description *gpu = arch::find(plan->arch);
    if (!gpu)
      gpu = findTarget(options.arch);
    if (!gpu)
      return Usage;
    for (const plan::Violation &violation : plan::verify(*plan, gpu->budget()))
      session.diagnostics.report(Diag::plan_refused, {violation.loc, violation.loc}, violation.message);
    text += plan::print(*plan);
  }
  return session.finishWith(options.output, text);
}

} // namespace tkc::driver
