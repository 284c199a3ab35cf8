// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/pipeline/HeadStart.h"

#include "ir/plan/HeadStart.h"

namespace tkc::planner {

/// Half, as the others of the block wait for the thread that asks. Rings of 13 stages were fastest with 4 to 6, of 8
/// with 6, and of 4 with 1 to 3 (docs/notes/head-start.md).
void giveHeadStart(plan::Plan &plan) {
  for (plan::Role &role : plan.roles)
    if (const int most = plan::mostHeadStart(plan, role); most > 0) {
      role.headStart = most > 1 ? most / 2 : 1;
      return;
    }
}

} // namespace tkc::planner
