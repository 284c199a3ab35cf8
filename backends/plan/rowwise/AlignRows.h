// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that begin anywhere in memory, by whole vectors: what threads hold is moved along the row until the first
// vectors of warps are where lines of caches begin.
#pragma once

#include "backends/targets/Description.h"
#include "ir/plan/PlanIR.h"

#include <string>
#include <vector>

namespace tkc::planner {

/// With the key `align_rows`, of a role whose tiles have one row each: all of them get aligned layouts, and the role
/// the row that they are aligned by. By preference it is of a tensor that is written, whose accesses wait for nothing
/// else to be put right. What is copied to `buffers` ahead of its use comes with a chunk more. Returns why the key
/// cannot be met, or nothing.
std::string alignRows(plan::Role &role, std::vector<plan::Buffer> &buffers, const plan::Plan &plan,
                      const arch::Description &arch);

} // namespace tkc::planner
