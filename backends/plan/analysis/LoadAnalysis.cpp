// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/analysis/LoadAnalysis.h"

#include "ir/Effects.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

/// Whether each thread finds its elements of a column from the same rows of other columns, or loads them.
bool isFoundByRow(const ir::Op &op) {
  switch (op.kind) {
  case ir::OpKind::Full:
  case ir::OpKind::Elements:
  case ir::OpKind::AsCol:
  case ir::OpKind::Load:
    return true;
  default:
    return ir::isElementwise(op.kind);
  }
}

/// Whether the producer can compute a scalar or tile index: from parameters, loop indices and tensors that the block
/// does not write there. With `rows`, also a column of so many.
bool isProducerComputable(const ir::Value *value, const ir::OpSet &contested, int64_t rows = 0) {
  return !ir::searchBack(value, [&](const ir::Value *at, std::vector<const ir::Value *> &next) {
    const ir::Op *op = at->definingOp;
    if (op)
      next.assign(op->operands().begin(), op->operands().end());
    const bool isScalar = at->type.isScalar() || at->type.kind == ir::Type::TileIndex;
    const bool isColumn = rows > 0 && op && isFoundByRow(*op) && isColumnOf(at->type, rows);
    return (!isScalar && !isColumn) || contested.count(op) != 0 ||
           (op ? !op->bodies.empty() : at->index != 0); // a carried value
  });
}

/// Whether nothing tells the loading role to stay away: no branch around the load, loops whose bounds it can compute,
/// and no access that is to stay in order with it.
bool isReachable(const ir::Op &load, const ir::OpSet &contested) {
  // The loops around it as well: how often the load happens. Roles that copy take no branches.
  for (const ir::Block *block = load.parent; block && block->parent; block = block->parent->parent) {
    const ir::Op &around = *block->parent;
    if (around.kind == ir::OpKind::If)
      return false;
    if (around.kind == ir::OpKind::For &&
        (!isProducerComputable(around.operand(0), contested) || !isProducerComputable(around.operand(1), contested)))
      return false;
  }
  return contested.count(&load) == 0;
}

/// A load of a tile that has zeros where there is nothing.
bool loadsTile(const ir::Value *value) {
  const ir::Op *op = value->definingOp;
  if (!op || op->kind != ir::OpKind::Load || value->type.kind != ir::Type::Tile)
    return false;
  const ir::Op *otherwise = op->hasElse ? op->operands().back()->definingOp : nullptr;
  return !op->hasElse || (otherwise && otherwise->kind == ir::OpKind::Const && otherwise->constant == 0);
}

/// Whether the tile's rows are rows of memory that columns of indices name, and its columns a run along the last dim.
bool takesRowsByIndex(const ir::Op &load) {
  const std::vector<ir::ViewIndex> &indices = load.view.indices;
  const ir::ViewIndex &last = indices.back();
  bool gathers = false;
  for (const ir::ViewIndex &index : indices) {
    const bool isGather = index.kind == ir::ViewIndex::Gather;
    if (&index != &last && !isGather && index.kind != ir::ViewIndex::Element)
      return false;
    if (isGather && !isColumnOf(load.operand(index.operand)->type, load.result()->type.rows))
      return false;
    gathers |= isGather;
  }
  const bool isTiled = last.kind == ir::ViewIndex::Tiled;
  if (!gathers || last.kind == ir::ViewIndex::Gather || last.kind == ir::ViewIndex::Element || last.divisor != 1)
    return false;
  const ir::Op *tile = isTiled ? load.operand(last.operand)->definingOp : nullptr;
  return !tile; // a tile that is moved may begin before its tensor
}

} // namespace

bool isColumnOf(const ir::Type &type, int64_t rows) {
  return rows > 1 && type.rows == rows &&
         (type.kind == ir::Type::Vector || (type.kind == ir::Type::Tile && type.cols == 1));
}

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
  return isReachable(load, contested) &&
         std::all_of(load.operands().begin(), load.operands().end(),
                     [&](const ir::Value *operand) { return isProducerComputable(operand, contested); });
}

bool isRingLoad(const ir::Value *value, const ir::OpSet &contested) {
  return loadsTile(value) && isProducerComputed(*value->definingOp, contested);
}

bool isRowGather(const ir::Value *value, const ir::OpSet &contested) {
  if (!loadsTile(value) || isPacked(value->type.elem))
    return false;
  const ir::Op &load = *value->definingOp;
  return takesRowsByIndex(load) && isReachable(load, contested) &&
         std::all_of(load.operands().begin(), load.operands().end(), [&](const ir::Value *operand) {
           return isProducerComputable(operand, contested, value->type.rows);
         });
}

int depthOf(const ir::Op &op) {
  int depth = 0;
  for (const ir::Block *block = op.parent; block && block->parent && block->parent->kind != ir::OpKind::Parallel;
       block = block->parent->parent)
    depth += block->parent->kind == ir::OpKind::For;
  return depth;
}

} // namespace tkc::planner
