// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// Enters the tiles that loops load, and of which threads make operands, into `placement.rings`. Products are placed and
/// register homes known by then.
void placeConverted(const ir::Function &function, const Nest &nest, const arch::Description &arch,
                    const Schedule &schedule, Placement &placement);

} // namespace tkc::planner
