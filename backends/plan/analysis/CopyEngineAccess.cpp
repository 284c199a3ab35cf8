// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/analysis/CopyEngineAccess.h"

#include "ir/Views.h"

#include "ir/RangeAnalysis.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tkc::planner {
namespace {

bool isZero(const ir::Value *value) {
  return value->definingOp && value->definingOp->kind == ir::OpKind::Const && value->definingOp->constant == 0;
}

/// How far forms are looked into: farther, there may be more paths than there is time.
constexpr int maxDepth = 10;

/// Whether `value` is a multiple of `size` by its form.
bool isMultipleOf(const ir::Value *value, int64_t size, int depth = 0) {
  const ir::Op *op = value->definingOp;
  if (!op || ++depth > maxDepth)
    return false;
  switch (op->kind) {
  case ir::OpKind::Const:
    return std::fmod(op->constant, static_cast<double>(size)) == 0;
  case ir::OpKind::Mul:
    return isMultipleOf(op->operand(0), size, depth) || isMultipleOf(op->operand(1), size, depth);
  case ir::OpKind::Add:
  case ir::OpKind::Sub:
  case ir::OpKind::Min:
  case ir::OpKind::Max:
    return isMultipleOf(op->operand(0), size, depth) && isMultipleOf(op->operand(1), size, depth);
  default:
    return false;
  }
}

/// Whether tiles that stop at `hi` are full, or stop where the tensor does, so that the engine's bounds are the tile's.
bool stopsWithTensor(const ir::Value *hi, const ir::DimExpr &dim, int64_t size, int depth = 0) {
  if (isDim(hi, dim) || isMultipleOf(hi, size))
    return true;
  if (++depth > maxDepth)
    return false;
  const ir::Op *op = hi->definingOp;
  if (op && (op->kind == ir::OpKind::Min || op->kind == ir::OpKind::Max))
    return stopsWithTensor(op->operand(0), dim, size, depth) && stopsWithTensor(op->operand(1), dim, size, depth);
  // A split loop's bound, clipped from below by another of the kind: select(c, x, y).
  return op && op->kind == ir::OpKind::Select && stopsWithTensor(op->operand(1), dim, size, depth) &&
         stopsWithTensor(op->operand(2), dim, size, depth);
}

/// The loop whose tiles the index counts; null: the index is moved, or not a loop's own.
const ir::Op *loopOf(const ir::Value *tileIndex) {
  return tileIndex->definingOp || !tileIndex->ownerBlock ? nullptr : tileIndex->ownerBlock->parent;
}

/// A load may bring what the tensor has beyond the end of the tile's range, moved or not: passes take it for that, or
/// for zero where the tensor ends (`EdgeAnalysis::loadedBeyond`). A store may not write there. Tiles of a loop start at
/// lo + n · size; with lo a multiple too, whatever is a multiple is a boundary between tiles. A loop that starts where
/// the tensor stops, as the rest of a split one may, has nothing of it.
bool rangeSuits(ir::OpKind access, ir::Value *tileIndex, const ir::DimExpr &dim) {
  if (access == ir::OpKind::Load)
    return loopOf(ir::rootTileIndex(tileIndex)) != nullptr;
  const ir::Op *loop = loopOf(tileIndex);
  if (!loop)
    return false;
  const int64_t size = loop->tileSize;
  return isDim(loop->operand(1), dim) ||
         (stopsWithTensor(loop->operand(0), dim, size) && stopsWithTensor(loop->operand(1), dim, size));
}

/// Why the copy engine cannot do an access wherever its tiles stop; empty where it can.
std::string whyNeverByCopyEngine(const ir::Function &function, const ir::Op &access) {
  const ir::Param *tensor = function.findParam(access.view.tensor);
  auto [rowDim, colDim] = rangedDims(access.view);
  const int rank = static_cast<int>(tensor->dims.size());
  if (colDim != rank - 1)
    return "its columns do not run along the last dim";
  if (rank > 5)
    return "the engine knows at most five dims";
  if (access.hasElse && !isZero(access.operands().back()))
    return "what lies beyond the tensor is not to read as zero";
  for (int dim : {rowDim, colDim}) {
    if (dim < 0)
      continue;
    const ir::ViewIndex &index = access.view.indices[dim];
    if (index.kind == ir::ViewIndex::Gather || index.kind == ir::ViewIndex::Element)
      return "it gathers rows or columns";
    if (index.divisor != 1)
      return "it has an element for each few of its tile index";
  }
  return "";
}

bool stopsEarly(const ir::Function &function, const ir::Op &access) {
  const ir::Param *tensor = function.findParam(access.view.tensor);
  auto [rowDim, colDim] = rangedDims(access.view);
  const std::array dims{rowDim, colDim};
  return std::any_of(dims.begin(), dims.end(), [&](int dim) {
    const ir::ViewIndex *index = dim < 0 ? nullptr : &access.view.indices[dim];
    return index && index->kind == ir::ViewIndex::Tiled &&
           !rangeSuits(access.kind, access.operand(index->operand), tensor->dims[dim]);
  });
}

} // namespace

bool suitsCopyEngine(const ir::Function &function, const ir::Op &access) {
  return whyNotByCopyEngine(function, access).empty();
}

std::string whyNotByCopyEngine(const ir::Function &function, const ir::Op &access) {
  std::string why = whyNeverByCopyEngine(function, access);
  return why.empty() && stopsEarly(function, access) ? "its tiles may stop before the tensor does" : why;
}

bool mayStopBeforeTensor(const ir::Function &function, const ir::Op &access) {
  return whyNeverByCopyEngine(function, access).empty() && stopsEarly(function, access);
}

bool beginsWide(const ir::Function &function, const ir::Op &access) {
  return beginsAtMultiples(function, access, elementsOfWhole(16, function.findParam(access.view.tensor)->elem));
}

bool beginsAtMultiples(const ir::Function &function, const ir::Op &access, int64_t elements) {
  const ir::ViewIndex &index = access.view.indices[rangedDims(access.view).second];
  if (index.kind == ir::ViewIndex::All || index.kind == ir::ViewIndex::Span)
    return index.lo % elements == 0;
  if (index.kind != ir::ViewIndex::Tiled || index.divisor != 1)
    return false;
  ir::RangeAnalysis ranges(function);
  return ranges.isMultiple(ranges.beginOf(access.operand(index.operand)), elements);
}

/// Never: all are off by as many columns.
BoxStarts boxStarts(const ir::Function &function, const ir::Op &access, int64_t step) {
  if (beginsAtMultiples(function, access, step))
    return BoxStarts::Always;
  const ir::ViewIndex &index = access.view.indices[rangedDims(access.view).second];
  if (index.kind != ir::ViewIndex::Tiled || index.divisor != 1)
    return BoxStarts::Never;
  ir::RangeAnalysis ranges(function);
  const ir::Affine begin = ranges.beginOf(access.operand(index.operand));
  for (int64_t off = 1; off < step; ++off)
    if (ranges.isMultiple(begin - off, step))
      return BoxStarts::Never;
  return BoxStarts::Sometimes;
}

bool endsWide(const ir::Function &function, const ir::Op &access) {
  const size_t cols = rangedDims(access.view).second;
  const ir::ViewIndex &index = access.view.indices[cols];
  const ir::Param &param = *function.findParam(access.view.tensor);
  const int64_t elements = elementsOfWhole(16, param.elem);
  const ir::DimExpr &dim = param.dims[cols];
  if (index.kind == ir::ViewIndex::All)
    return dim.isConst() && dim.value % elements == 0;
  if (index.kind != ir::ViewIndex::Tiled)
    return index.hi % elements == 0;
  const ir::Op *loop = loopOf(access.operand(index.operand));
  return loop && stopsWithTensor(loop->operand(1), dim, elements);
}

} // namespace tkc::planner
