// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GPUs as the command line names them.
#pragma once

#include "backends/arch/Description.h"

#include <string>

namespace tkc::driver {

/// The GPU, or the family's first that tkc compiles for. Complains, with the nearest name, and returns null where there
/// is none.
const arch::Description *findArch(const std::string &name);

/// The same; complains as well where tkc does not compile for that GPU, and says for which it does.
const arch::Description *findTarget(const std::string &name);

} // namespace tkc::driver
