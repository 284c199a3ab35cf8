// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random inputs of cases, where tk/host/test.h is a part of the emulator: the program has the kernel that makes them.
#pragma once

#include "tk/host/api.h"

#include <cstdint>

namespace tk::test {

using filler = api::error (*)(void *data, unsigned type, unsigned long long count, unsigned long long seed);

/// The program's function of this name; one program runs in a process.
inline filler fill_random;

} // namespace tk::test
