// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads of what all blocks read alike (a norm's weights) and need only behind a barrier. No compiler moves a load over
// a barrier, so that each block would wait once more for L2 at its end; begun with the block's first load they cost
// registers instead.
#pragma once

#include "backends/targets/Description.h"
#include "ir/plan/PlanIR.h"

#include <string>
#include <vector>

namespace tkc::planner {

/// Moves such loads of a role that is all of a block (plan.threads of them) to its first load, and those of a loop to
/// the first load of an iteration, as long as several blocks share a multiprocessor by the registers of their tiles;
/// with fewer, registers are dearer than time. Returns the tensors that they read.
std::vector<std::string> hoistLoads(plan::Role &role, const plan::Plan &plan, const arch::Description &arch);

} // namespace tkc::planner
