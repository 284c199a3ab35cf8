// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host's side of a CUDA or HIP file needs of its text.
#pragma once

#include <string>

namespace tkc::emulator {

/// The text with the bodies of `__global__` functions blanked, so that Clang need not instantiate the templates in them
/// for code that the host never runs: that is a tenth to a sixth of the time of a short run. Lines and columns stay.
void blankKernelBodies(std::string &text);

} // namespace tkc::emulator
