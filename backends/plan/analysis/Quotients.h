// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ranges show of each division of integers (ir/Quotients.h), at the place where a plan computes it: emitted code
// tests for a divisor that may be 0 or -1, and for no other.
#pragma once

#include "backends/plan/analysis/Nest.h"
#include "ir/TileIR.h"

namespace tkc::planner {

/// `loadsAlways`: addresses of tiles beyond a loop's last are computed, too (Placement.h).
ir::OpMap<ir::Quotient> quotientsOf(const ir::Function &function, const Nest &nest, bool loadsAlways);

} // namespace tkc::planner
