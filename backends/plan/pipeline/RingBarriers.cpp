// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/pipeline/RingBarriers.h"

namespace tkc::planner {

void addRingBarriers(const Placement &placement, int loadingWarps, const std::set<std::string> &toldLate,
                     const std::map<std::string, int> *emptyArrivals, plan::Plan &plan) {
  for (const RingPlacement &ring : placement.rings) {
    const int copying = toldLate.count(ring.full())         ? 1 + loadingWarps
                        : placement.isFilledByThreads(ring) ? loadingWarps * placement.warpSize
                                                            : 1;
    const bool inBoth = placement.byPairs && placement.isFilledByThreads(ring);
    plan.barriers.push_back({ring.full(), ring.stages, copying * (inBoth ? plan.cluster : 1)});
    const int each = ring.isDrainedByWarps() ? placement.layout.threads / placement.warpSize : 1;
    const int arrivals = emptyArrivals ? emptyArrivals->at(ring.empty()) : placement.instances * each;
    plan.barriers.push_back(
        {ring.empty(), ring.stages, arrivals * (ring.isShared() && !placement.byPairs ? plan.mates() : 1)});
  }
}

} // namespace tkc::planner
