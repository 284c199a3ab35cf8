// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fine the swizzles of tiles in shared memory are, where the architecture leaves it open (`sharedGrain`).
//
// A swizzle moves chunks of 16 bytes. So lanes that read 8 bytes each of 16 rows, at one place in the rows, meet in one
// half of the chunks, and half of the banks stay idle. Where a swizzle moves pieces of 8 bytes, every other eight rows
// have the halves of their chunks exchanged, and all banks are busy. Lanes that read 4 bytes each of 32 rows leave
// three quarters idle, and want pieces of 4 bytes.
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// Gives each tile the grain of what waves read or store at once, where everything that uses it can take that grain.
/// `least`: the architecture's.
void chooseSharedGrains(plan::Plan &plan, int least);

} // namespace tkc::planner
