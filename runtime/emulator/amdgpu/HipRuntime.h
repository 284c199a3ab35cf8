// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The HIP runtime that host code calls.
#pragma once

#include "runtime/emulator/Models.h"

#include <span>

namespace tkc::emulator {

/// Functions of the runtime, and of its device library, by name.
std::span<const Support> hipRuntimeFunctions();

} // namespace tkc::emulator
