// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/BackwardSlices.h"

#include "backends/plan/analysis/Nest.h"

namespace tkc::planner {
namespace {

class Marker {
public:
  Marker(const Placement &placement, bool forConsumer) : placement(placement), forConsumer(forConsumer) {}

  void mark(const ir::Op *op) {
    if (!op || op->kind == ir::OpKind::Parallel || !marked.insert(op).second)
      return;
    markOperands(*op);
    if (op->kind == ir::OpKind::For || op->kind == ir::OpKind::If)
      markYields(*op);
    for (const ir::Block *block = op->parent; block && block->parent; block = block->parent->parent)
      mark(block->parent);
  }

  ir::OpSet marked;

private:
  void mark(const ir::Value *value) {
    if (value->definingOp)
      mark(value->definingOp);
    else if (value->ownerBlock && value->ownerBlock->parent)
      mark(value->ownerBlock->parent);
  }

  void markOperands(const ir::Op &op) {
    if (forConsumer && op.kind == ir::OpKind::Load && !placement.registerLoads.count(&op))
      return;
    size_t count = op.operands().size();
    if (!forConsumer && op.kind == ir::OpKind::For)
      count = 2;
    else if (!forConsumer && op.kind == ir::OpKind::Atomic) // what is added comes through shared memory
      --count;
    for (size_t i = 0; i < count; ++i)
      mark(op.operand(i));
  }

  /// Those that copy have no use for what a loop carries: their addresses depend on induction variables alone.
  void markYields(const ir::Op &op) {
    if (!forConsumer)
      return;
    for (const auto &body : op.bodies)
      if (!body->ops.empty() && body->ops.back()->kind == ir::OpKind::Yield)
        mark(body->ops.back().get());
  }

  const Placement &placement;
  bool forConsumer;
};

} // namespace

ir::OpSet backwardSlices(const Nest &nest, const Placement &placement) {
  Marker marker(placement, true);
  walkTile(nest, [&](const ir::Op &op, int) {
    if (op.kind == ir::OpKind::Store || op.kind == ir::OpKind::Atomic)
      marker.mark(&op);
  });
  return std::move(marker.marked);
}

ir::OpSet producerOps(const Nest &nest, const Placement &placement) {
  Marker marker(placement, false);
  for (const auto &[load, key] : placement.loadKeys)
    marker.mark(load);
  return std::move(marker.marked);
}

ir::OpSet adderOps(const Placement &placement) {
  Marker marker(placement, false);
  for (const auto &[op, store] : placement.stores)
    if (store.isApart)
      marker.mark(op);
  return std::move(marker.marked);
}

} // namespace tkc::planner
