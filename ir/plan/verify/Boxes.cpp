// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where boxes of the copy engine begin along the rows of their tensors: the engine takes multiples of some bytes only.
// What a block's share or an instance's part adds is whole boxes, whose rows Structure.cpp knows to be such multiples.
#include "ir/plan/verify/Order.h"
#include "ir/plan/verify/Sizes.h"

#include <fmt/core.h>
#include <set>

namespace tkc::plan {

void checkBoxes(const Plan &plan, const Budget &budget, const std::vector<BoxStart> &boxes, const Inputs &inputs,
                Report &report) {
  std::set<const Stmt *> said;
  for (const BoxStart &box : boxes) {
    const Stmt &stmt = *box.stmt;
    if (!plan.aligned && !inputs.mapsFit.at(stmt.map))
      continue;
    const int64_t step = boxStep(plan.findBuffer(stmt.ref.buffer)->elem, budget.boxAlignment);
    if (box.column % step != 0 && said.insert(&stmt).second)
      report.add(stmt.loc, fmt::format("`{}`: its box begins at column {}, no multiple of {}{}", print(stmt),
                                       box.column, step, describe(plan, inputs)));
  }
}

} // namespace tkc::plan
