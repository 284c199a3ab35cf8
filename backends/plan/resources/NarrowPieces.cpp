// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/resources/NarrowPieces.h"

#include "backends/plan/placement/SharedUse.h"

#include <fmt/core.h>

namespace tkc::planner {
namespace {

/// Columns of a panel of the buffer, or 0: its tiles are not staged whole because panels of 128 bytes do not suit them.
int64_t panelCols(const Placement &placement, const plan::Buffer &buffer) {
  const int64_t span = plan::bytes(buffer.swizzle);
  if (span == 0 || span == 128 || buffer.stages > 1 || !buffer.aliasOf.empty())
    return 0;
  bool isStaging = false;
  for (const auto &[op, store] : placement.stores) {
    if (store.buffer != buffer.name)
      continue;
    // Instances that share the columns have each its own, all at once.
    if (placement.types.at(op->operands().back()).division == plan::Division::Cols)
      return 0;
    isStaging = true;
  }
  return isStaging ? span / byteWidth(buffer.elem) : 0;
}

/// Stages that the rings of loops have, all together, beside the buffers as they stand.
int64_t ringStages(Placement &placement, int64_t budget, int wanted) {
  int64_t count = 0, used = usedBytes(placement);
  for (int depth = 1; depth < wanted; ++depth)
    for (const RingPlacement &ring : placement.rings) {
      const int64_t bytes = stageBytes(placement, ring);
      if (ring.depth == 0 || used + bytes > budget)
        continue;
      ++count;
      used += bytes;
    }
  return count;
}

} // namespace

void narrowPieces(Placement &placement, int64_t budget, int wanted) {
  if (placement.copiesItself)
    return;
  for (plan::Buffer &buffer : placement.buffers) {
    const int64_t panel = panelCols(placement, buffer), all = buffer.cols;
    if (panel == 0)
      continue;
    const auto stagesWith = [&](int64_t cols) {
      buffer.cols = cols;
      buffer.stages = cols < all ? 2 : 1;
      return ringStages(placement, budget, wanted);
    };
    const int64_t most = stagesWith(panel);
    int64_t pieces = 1;
    while (all % (pieces * panel) != 0 || stagesWith(all / pieces) < most)
      ++pieces;
    if (pieces == 1)
      continue;
    for (auto &[op, store] : placement.stores)
      if (store.buffer == buffer.name) {
        store.pieceCols = buffer.cols;
        store.stages = buffer.stages;
        placement.note(
            plan::Note::Copies, op->loc,
            fmt::format("`{}`: {} columns at a time instead of {}, which leaves the loops' rings more stages",
                        op->view.tensor, buffer.cols, all));
      }
  }
}

} // namespace tkc::planner
