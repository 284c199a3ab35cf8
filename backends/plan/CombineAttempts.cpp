// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/CombineAttempts.h"

namespace tkc::planner {

std::optional<Attempt> combineAttempts(const std::function<std::vector<Setting>(const Attempt &)> &next,
                                       const std::function<double(const Attempt &)> &lacks, double now) {
  Attempt kept;
  for (;;) {
    std::optional<Attempt> best;
    for (const Setting &change : next(kept)) {
      Attempt changed = with(kept, change);
      const double after = lacks(changed);
      if (after == 0)
        return changed;
      if (after < now) {
        now = after;
        best = std::move(changed);
      }
    }
    if (!best)
      return std::nullopt;
    kept = std::move(*best);
  }
}

} // namespace tkc::planner
