// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/analysis/MemoryDependence.h"

#include "backends/plan/analysis/LoadAnalysis.h"
#include "backends/plan/analysis/Nest.h"
#include "backends/plan/analysis/SliceOverlap.h"
#include "ir/Effects.h"

#include <algorithm>
#include <map>

namespace tkc::planner {
namespace {

/// Loops around both, innermost first.
std::vector<const ir::Op *> sharedLoops(const ir::Op &one, const ir::Op &other) {
  std::vector<const ir::Op *> loops = loopsAround(one);
  std::erase_if(loops, [&](const ir::Op *loop) { return !ir::isWithin(other.parent, loop->body()); });
  return loops;
}

/// The accesses of tensors that the block both writes and accesses otherwise, or again, in their order.
std::vector<const ir::Op *> accessesOfWritten(const Nest &nest) {
  std::map<std::string, int> accesses, writes;
  std::vector<const ir::Op *> all;
  walkTile(nest, [&](const ir::Op &op, int depth) {
    if (!isAccess(op))
      return;
    all.push_back(&op);
    accesses[op.view.tensor] += depth > 0 ? 2 : 1;
    writes[op.view.tensor] += op.kind == ir::OpKind::Load ? 0 : 1;
  });
  std::erase_if(all, [&](const ir::Op *op) { return writes[op->view.tensor] == 0 || accesses[op->view.tensor] < 2; });
  return all;
}

bool canMeet(const ir::Op &one, const ir::Op &other, SliceOverlap &slices) {
  if (!isOrderSeen(one, other))
    return false;
  if (&one != &other && !slices.areApart(one, other, nullptr))
    return true;
  const std::vector<const ir::Op *> loops = sharedLoops(one, other);
  return std::any_of(loops.begin(), loops.end(),
                     [&](const ir::Op *loop) { return repeats(*loop) && !slices.areApart(one, other, loop); });
}

} // namespace

bool isAccess(const ir::Op &op) {
  return op.kind == ir::OpKind::Load || op.kind == ir::OpKind::Store || op.kind == ir::OpKind::Atomic;
}

bool isOrderSeen(const ir::Op &one, const ir::Op &other) {
  const bool bothLoad = one.kind == ir::OpKind::Load && other.kind == ir::OpKind::Load;
  const bool bothAdd = one.kind == ir::OpKind::Atomic && other.kind == ir::OpKind::Atomic && one.atomic == other.atomic;
  return one.view.tensor == other.view.tensor && !bothLoad && !bothAdd;
}

bool repeats(const ir::Op &loop) { return !ir::runsAtMostOnce(loop); }

ir::OpSet findContested(const ir::Function &function, const Nest &nest) {
  ir::OpSet contested;
  const std::vector<const ir::Op *> accesses = accessesOfWritten(nest);
  if (accesses.empty())
    return contested;
  SliceOverlap slices(function);
  for (size_t i = 0; i < accesses.size(); ++i)
    for (size_t j = 0; j <= i; ++j)
      if (canMeet(*accesses[i], *accesses[j], slices))
        contested.insert({accesses[i], accesses[j]});
  return contested;
}

ir::OpSet findLastWrites(const ir::Function &function, const Nest &nest, const ir::OpSet &contested) {
  ir::OpSet last;
  if (contested.empty())
    return last;
  SliceOverlap slices(function);
  std::vector<const ir::Op *> before;
  for (const ir::Op *op : accessesOfWritten(nest)) {
    if (op->kind == ir::OpKind::Store && depthOf(*op) == 0)
      last.insert(op);
    std::erase_if(last, [&](const ir::Op *store) { return store != op && canMeet(*store, *op, slices); });
    if (std::any_of(before.begin(), before.end(), [&](const ir::Op *write) { return canMeet(*write, *op, slices); }))
      last.erase(op);
    if (op->kind != ir::OpKind::Load)
      before.push_back(op);
  }
  return last;
}

} // namespace tkc::planner
