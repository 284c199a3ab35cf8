// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "frontend/AST.h"

namespace tkc {
class DiagnosticEngine;

/// Parses a .tk or .tks buffer. Reports every error it can and returns what it understood; never fails outright.
/// Nesting deeper than 256 is an error.
ast::File parse(uint32_t buffer, DiagnosticEngine &diagnostics);

} // namespace tkc
