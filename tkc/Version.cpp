// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tkc/Version.h"

#include <fmt/format.h>
#include <string_view>

namespace tkc::driver {

extern const char *const commit; // written by cmake/Commit.cmake

std::string version() {
  const std::string_view of = commit;
  return fmt::format("tkc {}{}", TKC_VERSION, of.empty() ? "" : fmt::format(" ({})", of));
}

} // namespace tkc::driver
