// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the headers of `extern` functions with Clang.
#pragma once

#include <string>
#include <vector>

namespace tkc {
struct Module;
class DiagnosticEngine;

/// Checks that each header (relative to the .tk file that names it) declares the device function with the signature
/// that the module says. Bodies are not looked at, and neither is what else the header may get wrong for want of a CUDA
/// toolkit. `includePaths` are searched for what headers include.
void checkExternFunctions(const Module &module, const std::vector<std::string> &includePaths,
                          DiagnosticEngine &diagnostics);

} // namespace tkc
