// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The headers of runtime/include, and, as "hip/…", those of runtime/hip, which cmake/EmbedRuntime.cmake builds into
// tkc.
#pragma once

#include <string_view>
#include <vector>

namespace tkc::cuda {

struct RuntimeHeader {
  std::string_view name; ///< "tk/barrier.h"
  std::string_view text;
};
/// All of them, by name.
const std::vector<RuntimeHeader> &runtimeHeaders();

} // namespace tkc::cuda
