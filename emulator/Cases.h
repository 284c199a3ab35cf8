// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the cases of a program that `tkc test` wrote. Programs have this code with them, for GPUs (tk/host/test.h); a
// third of a small kernel's time went into compiling it, until it became a part of the emulator as well.
#pragma once

#include "emulator/Models.h"

namespace tkc::emulator {

/// What tk/host/emulated_cases.h declares.
std::span<const Support> caseFunctions();

} // namespace tkc::emulator
