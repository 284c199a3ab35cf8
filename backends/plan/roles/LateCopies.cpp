// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/LateCopies.h"

#include "backends/plan/roles/AsyncCopyPipeline.h"

#include <algorithm>

namespace tkc::planner {

void copyBeforeUse(RoleBuilder &builder, plan::Stmt &loop, const std::vector<const RingPlacement *> &rings,
                   const std::function<void(const RingPlacement &)> &copy, const std::function<void()> &wait) {
  plan::Body lowered = std::move(loop.body);
  std::vector<const RingPlacement *> left = rings;
  plan::Body result;
  builder.into(result, [&] {
    for (plan::Stmt &stmt : lowered) {
      const auto used = std::stable_partition(left.begin(), left.end(),
                                              [&](const RingPlacement *ring) { return !readsOutOf(stmt, *ring); });
      if (used != left.end()) {
        builder.emit(plan::Sync(), loop.loc); // its threads are known once the role is complete: synchronizeBlock
        std::for_each(used, left.end(), [&](const RingPlacement *ring) { copy(*ring); });
        wait();
        builder.emit(plan::Sync(), loop.loc);
      }
      left.erase(used, left.end());
      result.push_back(std::move(stmt));
    }
  });
  loop.body = std::move(result);
}

} // namespace tkc::planner
