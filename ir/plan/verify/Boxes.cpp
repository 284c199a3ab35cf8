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

void checkBoxes(const Plan &plan, const Budget &budget, const Trace &trace, const Inputs &inputs, Report &report) {
  std::set<const Stmt *> said;
  for (const Event &event : trace) {
    const Stmt &stmt = *event.stmt;
    const bool isBox = (event.kind == Event::CopyIn || event.kind == Event::CopyOut) && !stmt.map.empty();
    if (!isBox || (!plan.aligned && !inputs.mapsFit.at(stmt.map)))
      continue;
    const int64_t step = boxStep(plan.findBuffer(stmt.ref.buffer)->elem, budget.boxAlignment);
    if (event.column % step != 0 && said.insert(&stmt).second)
      report.add(stmt.loc, fmt::format("`{}`: its box begins at column {}, no multiple of {}{}", print(stmt),
                                       event.column, step, describe(plan, inputs)));
  }
}

} // namespace tkc::plan
