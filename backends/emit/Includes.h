// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tkc::cuda {

/// The runtime headers, in alphabetical order, whose names the code uses: few, as every one costs time to compile.
std::vector<std::string> includesOf(std::string_view code);

} // namespace tkc::cuda
