// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/analysis/Nest.h"

#include "ir/Effects.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace tkc::planner {
namespace {

using ir::OpSet;

/// Ops of `candidates` that `value` is computed from, itself included.
void addSlice(const ir::Value *value, const OpSet &candidates, OpSet &slice) {
  const ir::Op *op = value->definingOp;
  if (!op || !candidates.count(op) || !slice.insert(op).second)
    return;
  for (const ir::Value *operand : op->operands())
    addSlice(operand, candidates, slice);
}

/// Integers of which launchers find out how many blocks there are. They read no tensor.
bool isForLauncher(const ir::Op &op) {
  switch (op.kind) {
  case ir::OpKind::Const:
  case ir::OpKind::Dim:
  case ir::OpKind::Param:
  case ir::OpKind::Add:
  case ir::OpKind::Sub:
  case ir::OpKind::Mul:
  case ir::OpKind::Div:
  case ir::OpKind::Mod:
  case ir::OpKind::Min:
  case ir::OpKind::Max:
    return !isFloat(op.result()->type.elem);
  default: // elements, conversions, selections, and what has no name in C++
    return false;
  }
}

class NestFinder {
public:
  Nest find(const ir::Function &function) {
    findBounds(function.body);
    visit(function.body);
    for (const ir::Op *axis : nest.axes)
      nest.bounds.push_back(boundsOf(axis));
    return std::move(nest);
  }

private:
  /// What bounds an axis and blocks have to find out, whatever it depends on.
  void findBounds(const ir::Block &block) {
    for (const auto &op : block.ops) {
      if (op->kind != ir::OpKind::Parallel)
        continue;
      for (const ir::Value *bound : op->operands())
        ir::searchBack(bound, [&](const ir::Value *at, std::vector<const ir::Value *> &next) {
          if (const ir::Op *made = at->definingOp) {
            next.assign(made->operands().begin(), made->operands().end());
            if (!isForLauncher(*made))
              blockBounds.insert(made);
          }
          return false;
        });
      findBounds(op->body());
    }
  }

  void visit(const ir::Block &block) {
    const ir::Op *inner = nullptr;
    for (const auto &op : block.ops)
      if (op->kind == ir::OpKind::Parallel)
        inner = op.get();
    for (const auto &op : block.ops) {
      if (op->kind == ir::OpKind::Parallel) {
        enter(*op);
      } else if (inner && !dependsOnAxis(*op) && blockBounds.count(op.get()) == 0) {
        nest.prelude.push_back(op.get());
      } else if (op->kind != ir::OpKind::Yield) {
        for (const auto &result : op->results)
          variant.insert(result.get());
        if (inner)
          between.insert(op.get());
        nest.tileOps.push_back(op.get());
      }
    }
  }

  void enter(const ir::Op &axis) {
    nest.axes.push_back(&axis);
    variant.insert(axis.body().args[0].get());
    visit(axis.body());
  }

  bool dependsOnAxis(const ir::Op &op) const {
    return std::any_of(op.operands().begin(), op.operands().end(),
                       [&](const ir::Value *v) { return variant.count(v) != 0; });
  }

  std::vector<const ir::Op *> boundsOf(const ir::Op *axis) const {
    OpSet slice;
    addSlice(axis->operand(0), between, slice);
    addSlice(axis->operand(1), between, slice);
    std::vector<const ir::Op *> ordered;
    std::copy_if(nest.tileOps.begin(), nest.tileOps.end(), std::back_inserter(ordered),
                 [&](const ir::Op *op) { return slice.count(op) != 0; });
    return ordered;
  }

  Nest nest;
  ir::ValueSet variant; ///< depends on an axis
  OpSet between;        ///< ops in bodies that hold a further axis
  OpSet blockBounds;
};

} // namespace

bool Nest::isRagged() const {
  return std::any_of(bounds.begin(), bounds.end(), [](const auto &ops) { return !ops.empty(); });
}

Nest findNest(const ir::Function &function) { return NestFinder().find(function); }

} // namespace tkc::planner
