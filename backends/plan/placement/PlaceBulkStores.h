// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// Stages of a ring in a loop where no schedule says: staging buffers of what threads store leave room for them.
constexpr int defaultStages = 4;

/// Enters the stores after all loops, those in loops if the schedule asks for it, and the additions (`+=`) anywhere,
/// that the copy engine can do into `placement.stores`, with their staging buffers and tensor maps. Register homes are
/// known by then.
void placeBulkStores(const ir::Function &function, const Nest &nest, const arch::Description &arch,
                     const Schedule &schedule, Placement &placement);

} // namespace tkc::planner
