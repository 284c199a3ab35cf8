// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/targets/Dialect.h"

#include <string>
#include <string_view>

namespace tkc::cuda {

/// The code, in that language, with each `#include "tk/…"` replaced by the header's text, every header once, so that it
/// compiles without -I.
std::string inlineRuntime(std::string_view code, const Dialect &dialect);

} // namespace tkc::cuda
