// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace tkc {

/// Lays out C++ with Clang's formatter: two spaces, 120 columns. Text that does not parse comes back with its tokens
/// unchanged.
std::string formatCpp(const std::string &code);

/// The same for code that `cpp::print` laid out, a statement a line: gives only the lines that are too long to Clang's
/// formatter, each once, which takes a tenth of the time.
std::string breakLongLines(const std::string &code);

} // namespace tkc
