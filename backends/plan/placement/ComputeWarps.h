// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many warpgroups or groups of warps compute, how they share the tiles of products, and what multiplies for them.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// At most `mostInstances`, of the layout that the products of `nest` impose. Sets what `placement` says of the machine
/// and of the computing role; without products nothing.
void chooseComputeWarps(const Nest &nest, const arch::Description &arch, const Schedule &schedule, int mostInstances,
                        Placement &placement);

/// What multiplies the types of `dot` in the placement's layout. Null: the threads do.
const arch::MatrixInstruction *instructionOf(const ir::Op &dot, const arch::Description &arch,
                                             const Placement &placement);
/// Each warp multiplies by itself, synchronously.
bool isByWarps(const arch::MatrixInstruction &instruction);

} // namespace tkc::planner
