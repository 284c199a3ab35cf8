// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared memory: where every buffer lies.
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// Gives every buffer of the plan its offset, 1024-byte aligned as the 128-byte swizzle wants, and sums up. `packs`:
/// those without a swizzle come last, close together.
void allocateShared(plan::Plan &plan, bool isPlacedByCompiler, bool packs);

} // namespace tkc::planner
