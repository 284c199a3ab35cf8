// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace tkc::driver {

/// "tkc 0.1.0 (4dae5402f1c7)": the version, and the commit where the build knows it.
std::string version();

} // namespace tkc::driver
