// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads of what all blocks read alike (a norm's weights) and need only behind a reduction, as a row's sum. No compiler
// moves a load over a barrier, nor over the test of a tensor's alignment that each load begins with: so each block would
// wait for L2 once more for each of them at its end. Begun before the threads wait for the block's first load, they cost
// registers instead.
#pragma once

#include "backends/targets/Description.h"
#include "ir/plan/PlanIR.h"

#include <string>
#include <vector>

namespace tkc::planner {

/// Moves such loads of a role that is all of a block (plan.threads of them) to where it first waits for a load, and those
/// of a loop to where an iteration does, as long as several blocks share a multiprocessor by the registers of their
/// tiles; with fewer, registers are dearer than time. Returns the tensors that they read.
std::vector<std::string> hoistLoads(plan::Role &role, const plan::Plan &plan, const arch::Description &arch);

} // namespace tkc::planner
