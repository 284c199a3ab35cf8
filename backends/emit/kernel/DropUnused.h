// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last step of printing a kernel: declarations that nothing reads vanish, such as the coordinates of a tile in a
// role that loads none of it. So an emitted file compiles without warnings.
#pragma once

#include "backends/cpp/Cpp.h"

namespace tkc::cuda {

/// Drops what nothing reads. What finding its value changes stays, and is marked as `[[maybe_unused]]`; so is the
/// variable of a loop that counts only.
void dropUnused(cpp::Body &body);

} // namespace tkc::cuda
