// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/CombineAttempts.h"

#include <limits>

namespace tkc::planner {

std::optional<Attempt> combineAttempts(const std::function<std::vector<Setting>(const Attempt &)> &next,
                                       const std::function<double(const Attempt &)> &lacks, Attempt kept, double now) {
  for (;;) {
    std::optional<Attempt> best, aside; // a smaller tile that does not help by itself may let the next one fit
    double leastAside = std::numeric_limits<double>::infinity();
    for (const Setting &change : next(kept)) {
      Attempt changed = with(kept, change);
      const double after = lacks(changed);
      if (after == 0)
        return changed;
      if (after < now) {
        now = after;
        best = std::move(changed);
      } else if (change.isTune && after < leastAside) {
        leastAside = after;
        aside = std::move(changed);
      }
    }
    if (!best && !aside)
      return std::nullopt;
    if (!best)
      now = leastAside;
    kept = std::move(best ? *best : *aside);
  }
}

} // namespace tkc::planner
