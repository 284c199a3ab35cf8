// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan in sentences: what it has, and the notes that the planner took where it decided.
#pragma once

#include "backends/targets/Description.h"
#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// One paragraph a topic. Only a plan that was made by planKernel has notes; of another it says what it has.
std::string explain(const plan::Plan &plan, const arch::Description &arch, const SourceManager &sources);

} // namespace tkc::planner
