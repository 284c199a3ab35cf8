// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ops the computing role and the loading role each have to run.
#pragma once

#include "backends/plan/placement/Placement.h"

#include <set>

namespace tkc::planner {

/// Ops that stores and atomics depend on; the addresses of loads that a ring serves do not count.
ir::OpSet backwardSlices(const Nest &nest, const Placement &placement);

/// Ops that the addresses of what a role of its own adds depend on, the loops around them, and the additions.
ir::OpSet adderOps(const Placement &placement);

/// Ops that the addresses of ring loads depend on, the loops around them, and the loads themselves.
ir::OpSet producerOps(const Nest &nest, const Placement &placement);

} // namespace tkc::planner
