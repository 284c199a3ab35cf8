// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/RegisterPipeline.h"

#include <algorithm>

namespace tkc::planner {

using Kind = plan::StmtKind;

void pipelineThroughRegisters(RoleBuilder &builder, plan::Stmt &loop, const std::vector<const RingPlacement *> &rings,
                              const FillPart &fill) {
  if (rings.empty())
    return;
  const auto fillAll = [&](CopyPart part, int count, bool inLoop) {
    for (const RingPlacement *ring : rings)
      fill(*ring, part, count, inLoop);
  };
  fillAll(CopyPart::Fetch, 0, false);
  fillAll(CopyPart::Place, 0, false);
  const bool hasSingle =
      std::any_of(rings.begin(), rings.end(), [](const RingPlacement *ring) { return ring->stages == 1; });
  plan::Body lowered = std::move(loop.body);
  plan::Body result;
  builder.into(result, [&] {
    builder.emit(plan::Sync(), loop.loc);
    fillAll(CopyPart::Fetch, 1, true);
    for (plan::Stmt &stmt : lowered)
      result.push_back(std::move(stmt));
    if (hasSingle)
      builder.emit(plan::Sync(), loop.loc);
    fillAll(CopyPart::Place, 1, true);
    for (const RingPlacement *ring : rings)
      if (ring->stages > 1)
        builder.emit(plan::Advance{ring->cursor()}, loop.loc);
  });
  loop.body = std::move(result);
}

} // namespace tkc::planner
