// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelined loops, one behind the other, that do the same with their last iteration's results become one pipeline,
// which neither drains nor fills between them:
//   for j in a..b { prologue P, body B, epilogue E }  n = …  for k in b..c { prologue Q, body C, epilogue E }
//   ⇒  n = …  for j in a..b { prologue P, body B }  for k in b..c after a { prologue Q, body C, epilogue E }
// and so on with a third, `for l in c..d after a`. Such are the parts of a loop whose first or last tiles are masked.
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// Rewrites the body of a computing `role`, before its waits are found.
void joinPipelines(plan::Role &role);

} // namespace tkc::planner
