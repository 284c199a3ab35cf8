// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared memory for the tensors that each block has of its own (`new` in a kernel). Nothing else shares it: such a
// tensor is read and written as one in global memory is, and whoever else has the memory would have to know when it is
// dead.
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// A buffer for each of them.
void addOwnMemory(plan::Plan &plan);

} // namespace tkc::planner
