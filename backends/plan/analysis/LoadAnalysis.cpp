// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/analysis/LoadAnalysis.h"

#include "ir/Effects.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

/// Whether the producer can compute a scalar or tile index: from parameters, loop indices and tensors that the block
/// does not write there.
bool isProducerComputable(const ir::Value *value, const ir::OpSet &contested) {
  return !ir::searchBack(value, [&](const ir::Value *at, std::vector<const ir::Value *> &next) {
    const ir::Op *op = at->definingOp;
    if (op)
      next.assign(op->operands().begin(), op->operands().end());
    const bool isAddress = at->type.isScalar() || at->type.kind == ir::Type::TileIndex;
    return !isAddress || contested.count(op) != 0 || (op ? !op->bodies.empty() : at->index != 0); // a carried value
  });
}

} // namespace

std::pair<const ir::Value *, bool> throughTransposes(const ir::Value *value) {
  bool transposed = false;
  while (value->definingOp && value->definingOp->kind == ir::OpKind::Transpose) {
    value = value->definingOp->operand(0);
    transposed = !transposed;
  }
  return {value, transposed};
}

std::string loadKey(const ir::Op &load) {
  const ir::Type &type = load.result()->type;
  if (!load.loc.isValid())
    return fmt::format("{}#{}", load.view.tensor, static_cast<const void *>(&load));
  return fmt::format("{}@{}:{}:{}x{}", load.view.tensor, load.loc.buffer, load.loc.offset, type.rows, type.cols);
}

bool isProducerComputed(const ir::Op &load, const ir::OpSet &contested) {
  // The loops around it as well: how often the load happens. Roles that copy take no branches.
  for (const ir::Block *block = load.parent; block && block->parent; block = block->parent->parent) {
    const ir::Op &around = *block->parent;
    if (around.kind == ir::OpKind::If)
      return false;
    if (around.kind == ir::OpKind::For &&
        (!isProducerComputable(around.operand(0), contested) || !isProducerComputable(around.operand(1), contested)))
      return false;
  }
  return contested.count(&load) == 0 &&
         std::all_of(load.operands().begin(), load.operands().end(),
                     [&](const ir::Value *operand) { return isProducerComputable(operand, contested); });
}

bool isRingLoad(const ir::Value *value, const ir::OpSet &contested) {
  const ir::Op *op = value->definingOp;
  if (!op || op->kind != ir::OpKind::Load || value->type.kind != ir::Type::Tile)
    return false;
  if (op->hasElse) {
    const ir::Op *otherwise = op->operands().back()->definingOp;
    if (!otherwise || otherwise->kind != ir::OpKind::Const || otherwise->constant != 0)
      return false;
  }
  return isProducerComputed(*op, contested);
}

int depthOf(const ir::Op &op) {
  int depth = 0;
  for (const ir::Block *block = op.parent; block && block->parent && block->parent->kind != ir::OpKind::Parallel;
       block = block->parent->parent)
    depth += block->parent->kind == ir::OpKind::For;
  return depth;
}

} // namespace tkc::planner
