// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads of the same boxes of one tensor, as by loops that follow each other, go through one tensor map: a kernel has
// room for few.
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// Drops maps that differ from another by their name alone, and names that one where they were used.
void mergeTensorMaps(plan::Plan &plan);

} // namespace tkc::planner
