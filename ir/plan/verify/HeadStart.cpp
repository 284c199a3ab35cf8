// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Head starts: the first copies that a role asks for before the block meets need no wait.
#include "ir/plan/HeadStart.h"
#include "ir/plan/verify/Verify.h"

#include <fmt/core.h>

namespace tkc::plan {

void checkHeadStarts(const Plan &plan, Report &report) {
  bool isTaken = false;
  for (const Role &role : plan.roles) {
    if (role.headStart == 0)
      continue;
    const int most = mostHeadStart(plan, role);
    if (most == 0)
      report.add(plan.loc, fmt::format("role `{}` cannot have a head start: it does not begin with a loop of copies by "
                                       "one thread alone, for a tile that is known by its number",
                                       role.name));
    else if (role.headStart < 0 || role.headStart > most)
      report.add(plan.loc, fmt::format("role `{}`: a head start of {} iterations, and the ring has room for {}",
                                       role.name, role.headStart, most));
    if (isTaken)
      report.add(plan.loc,
                 fmt::format("role `{}`: another role has a head start already, and makes the barriers", role.name));
    isTaken = true;
  }
}

} // namespace tkc::plan
