// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names that C++ text mentions. Members (`g.k`, `{.k = 1}`), what stands in strings, and numbers are none.
#pragma once

#include "backends/cpp/Cpp.h"

#include <set>
#include <string>
#include <string_view>

namespace tkc::cpp {

using Identifiers = std::set<std::string, std::less<>>;

/// Adds the names that a piece of C++ mentions. Of `tk::ceil_div` that is `tk`.
void addIdentifiers(std::string_view text, Identifiers &names);
void addIdentifiers(const Expr &expr, Identifiers &names);

/// The functions and methods that it calls: `tk::ceil_div`, of a method its name alone, of a template without its
/// arguments.
Identifiers calleesOf(std::string_view text);

/// Gives a variable from outside another name, wherever the body does not declare one that is called the same.
void rename(Body &body, std::string_view from, std::string_view to);

} // namespace tkc::cpp
