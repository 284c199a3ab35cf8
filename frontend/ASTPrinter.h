// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The syntax tree as text. `tkc fmt` is another thing (Formatter.h): it keeps what was written, this shows how it was
// read.
#pragma once

#include "frontend/AST.h"

namespace tkc {

/// One line a declaration and a statement, two spaces a level, for `--emit=ast`. Expressions carry every parenthesis.
std::string dump(const ast::File &file);
std::string dump(const ast::Expr *expr);

} // namespace tkc
