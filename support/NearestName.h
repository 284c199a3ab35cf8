// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nearest name to a misspelt one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tkc {

/// The name in `candidates` nearest to `name` by edit distance, if near enough to suggest.
std::optional<std::string> nearestName(std::string_view name, const std::vector<std::string> &candidates);

} // namespace tkc
