// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads straight to shared memory (AMD): whether all operands of a kernel come that way. They take no registers and no
// stores, so rings can be deeper than what is on its way; but a wave's share lands in a row, so that the swizzle goes
// onto the global addresses.
#pragma once

#include "backends/plan/placement/Placement.h"
#include "backends/targets/Description.h"

namespace tkc::planner {

/// Bytes a thread from which on they pay: with 4, a tile takes four times as many loads as through registers.
constexpr int leastDirectBytes = 16;

/// Decides `throughRegisters`, `directLoads`, `hasPlainLoop` and `loadsAlways`, and notes why. Buffers have their
/// shapes and swizzles.
void placeDirectLoads(const ir::Function &function, const Nest &nest, const arch::Description &arch,
                      bool takesTilesInTurn, Placement &placement);

} // namespace tkc::planner
