// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tkc {
class DiagnosticEngine;

/// The text of a .tk or .tks buffer as `tkc fmt` writes it: spacing and indentation are the formatter's, line breaks
/// that make sense are the author's, lines are at most 100 columns where a break is possible. Comments and tokens are
/// kept, and formatting the result again changes nothing. Nothing where the buffer has syntax errors, which are
/// reported.
std::optional<std::string> format(uint32_t buffer, DiagnosticEngine &diagnostics);

} // namespace tkc
