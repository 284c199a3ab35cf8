// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the products backwards: where their operands live, and in which registers all other values are.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// `error` is set where the program needs what no placement can give.
Placement place(const ir::Function &function, const Nest &nest, const arch::Description &arch, const Schedule &schedule,
                std::string &error);

} // namespace tkc::planner
