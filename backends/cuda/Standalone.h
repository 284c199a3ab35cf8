// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

namespace tkc::cuda {

/// The code with each `#include "tk/…"` replaced by the header's text, every header once, so that it compiles without
/// -I.
std::string inlineRuntime(std::string_view code);

} // namespace tkc::cuda
