// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axes of the grid with their bounds, and the scalar work that is done once for all of them.
#pragma once

#include "backends/plan/roles/RoleBuilder.h"

namespace tkc::planner {

/// Fills the prelude and the grid's axes of `plan`, in the order of the nest. Returns the names that every role sees.
SharedNames lowerGrid(const ir::Function &function, const Nest &nest, plan::Plan &plan);

} // namespace tkc::planner
