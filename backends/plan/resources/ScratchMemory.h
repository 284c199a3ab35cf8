// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared memory that reductions and transpositions go through.
#pragma once

#include "backends/plan/placement/Placement.h"

#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

/// All transpositions go through the memory of the largest: `transposed` names their buffers among `scratch`.
void shareScratch(std::vector<plan::Buffer> &scratch, const std::set<std::string> &transposed, Placement &placement);

/// Of buffers with memory of their own.
int64_t scratchBytesOf(const std::vector<plan::Buffer> &scratch, int64_t alignment);

} // namespace tkc::planner
