// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What only HIP's runtime has for host code to call.
#pragma once

#include "emulator/HostRuntime.h"

namespace tkc::emulator {

/// By name; those of its device library, too.
std::span<const Support> hipRuntimeFunctions();

} // namespace tkc::emulator
