// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/targets/Description.h"
#include "support/Diagnostics.h"

#include <memory>
#include <vector>

namespace tkc::driver {

/// What is said when a file is compiled for several GPUs: each message once, and, where it is not about all of them, of
/// which it is true and of which not.
class TargetDiagnostics {
public:
  TargetDiagnostics(DiagnosticEngine &all, const std::vector<const arch::Description *> &targets);

  /// For what is said while compiling for one of them.
  DiagnosticEngine &of(const arch::Description &target);
  /// Hands everything on; to be called once.
  void finish();

private:
  DiagnosticEngine &all;
  const std::vector<const arch::Description *> &targets;
  std::vector<std::unique_ptr<DiagnosticEngine>> engines; ///< of each target; none where there is one only
};

} // namespace tkc::driver
