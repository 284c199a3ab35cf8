// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM calls where a processor has no instruction: conversions to and from floats of 16 bits. A compiler's run-time
// library has them, but not each one: GCC's knows bf16 since its version 13.
#pragma once

#include "emulator/Models.h"

#include <span>

namespace tkc::emulator {

std::span<const Support> compilerCalls();

} // namespace tkc::emulator
