// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/PlaceBoxes.h"

#include "backends/plan/analysis/CopyEngineAccess.h"

namespace tkc::planner {
namespace {

void leaveToThreads(const std::string &key, Placement &placement) {
  for (RingPlacement &ring : placement.rings)
    for (RingMember &member : ring.members)
      if (member.key == key) {
        member.byEngine = false;
        std::erase_if(placement.maps, [&](const plan::TensorMap &map) { return map.buffer == member.buffer; });
      }
}

} // namespace

/// Clones of a load are copied alike, and each may begin elsewhere.
void placeBoxes(const ir::Function &function, const arch::Description &arch, Placement &placement) {
  for (const auto &[load, key] : placement.loadKeys) {
    const RingMember &member = *placement.findMember(key);
    if (!member.byEngine)
      continue;
    const ElemType elem = placement.findBuffer(member.buffer)->elem;
    const BoxStarts starts = boxStarts(function, *load, plan::boxStep(elem, arch.boxAlignment));
    if (starts == BoxStarts::Never)
      leaveToThreads(key, placement);
    else if (starts == BoxStarts::Sometimes)
      placement.asksStart.insert(load);
  }
  if (!placement.copiesByThreads())
    return;
  for (const ir::Op *load : placement.asksStart)
    leaveToThreads(placement.loadKeys.at(load), placement);
  placement.asksStart.clear();
}

} // namespace tkc::planner
