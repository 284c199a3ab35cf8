// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads of what blocks that come much later read again. Blocks walk the last axis of the grid fastest. A tile that
// depends on it, but not on an axis before it, comes again only when all of the last axis was walked, and by then what
// streams through L2 would have displaced it (rotary embedding: tables of all positions, for each sequence).
#pragma once

#include "backends/targets/Description.h"
#include "ir/plan/PlanIR.h"

#include <string>
#include <vector>

namespace tkc::planner {

/// Marks such loads of tiles in a role of a kernel without products (Stmt::lastInCache), where loads can say so. `plan`
/// has the grid. Returns the tensors that they read.
std::vector<std::string> evictLast(plan::Role &role, const plan::Plan &plan, const arch::Description &arch);

} // namespace tkc::planner
