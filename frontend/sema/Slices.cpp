// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices: each index says which elements of its dim are meant, and whether an axis of the result is left.
#include "frontend/sema/Elaborator.h"
#include "frontend/sema/ModulePhases.h"
#include "frontend/sema/TileAxes.h"

#include "llvm/Support/Casting.h"

namespace tkc::sema {

std::optional<Elaborator::Slice> Elaborator::slice(const ast::IndexExpr &expr) {
  Val base = this->expr(expr.base);
  if (!base.isTensor()) {
    if (!base.isError())
      error(Diag::slice_of_value, expr.base->range, describe(base));
    return std::nullopt;
  }
  Slice slice;
  slice.param = function->findParam(base.tensor);
  slice.view.tensor = base.tensor;
  slice.isAbsent = !slice.param->isPresent;
  const std::vector<ir::DimExpr> &dims = slice.param->dims;
  if (dims.size() != expr.subscripts.size()) {
    error(Diag::number_of_indices, expr.range, base.tensor, dims.size(), expr.subscripts.size())
        .note(Diag::note_declared_here, {slice.param->loc, slice.param->loc}, base.tensor);
    return std::nullopt;
  }
  bool isGood = true;
  for (size_t i = 0; i < dims.size(); ++i)
    isGood = addSubscript(slice, expr.subscripts[i], dims[i], i) && isGood;
  if (isGood && isPacked(slice.param->elem))
    isGood = checkPacked(slice, expr.subscripts.back(), slice.view.indices.back());
  if (!isGood)
    return std::nullopt;
  std::optional<ir::Type> type = ir::viewType(slice.param->elem, slice.view, slice.operands);
  if (!type) {
    sliceHasNoType(slice, expr);
    return std::nullopt;
  }
  slice.type = *type;
  builder.setLoc(expr.range.begin);
  return slice;
}

void Elaborator::sliceHasNoType(const Slice &slice, const ast::IndexExpr &expr) {
  size_t ranges = 0;
  std::optional<ir::Type> gathered;
  for (const ir::ViewIndex &index : slice.view.indices) {
    if (index.kind == ir::ViewIndex::Gather) {
      const ir::Type &type = slice.operands[index.operand]->type;
      std::optional<ir::Type> both = gathered ? ir::broadcast(*gathered, type) : type;
      if (!both) {
        error(Diag::gathers_clash, expr.range, describe(*gathered), describe(type));
        return;
      }
      gathered = both;
    } else if (index.kind != ir::ViewIndex::Element) {
      ++ranges;
    }
  }
  error(Diag::too_many_ranges, expr.range,
        ranges + (gathered ? (gathered->isColumn() || gathered->isRow() ? 1 : 2) : 0));
}

bool Elaborator::addSubscript(Slice &slice, const ast::Subscript &subscript, const ir::DimExpr &dim, size_t position) {
  switch (subscript.kind) {
  case ast::Subscript::Element:
    return addElementSubscript(slice, subscript, dim, position);
  case ast::Subscript::All:
    if (!dim.isConst()) {
      error(Diag::all_of_runtime_dim, subscript.range, position, slice.view.tensor, dim.str());
      return false;
    }
    slice.view.indices.push_back({ir::ViewIndex::All, 0, 0, dim.value});
    return true;
  case ast::Subscript::Span:
    return addSpan(slice, subscript, dim);
  }
  return false;
}

bool Elaborator::addSpan(Slice &slice, const ast::Subscript &subscript, const ir::DimExpr &dim) {
  std::optional<int64_t> lo = 0, hi = dim.isConst() ? std::optional(dim.value) : std::nullopt;
  if (subscript.first)
    lo = constantInteger(subscript.first, "the start of a range");
  if (subscript.second)
    hi = constantInteger(subscript.second, "the end of a range");
  if (!lo || !hi)
    return false;
  bool fits = dim.isConst() ? *hi <= dim.value : bounds.isAtMost(Linear::number(*hi), bounds.linear(dim));
  if (*lo < 0 || *lo >= *hi || !fits) {
    error(Diag::span_outside, subscript.range, *lo, *hi, dim.str(), slice.view.tensor);
    return false;
  }
  slice.view.indices.push_back({ir::ViewIndex::Span, 0, *lo, *hi});
  return true;
}

bool Elaborator::addElementSubscript(Slice &slice, const ast::Subscript &subscript, const ir::DimExpr &dim,
                                     size_t position) {
  Val val = expr(subscript.first);
  if (val.isError())
    return false;
  auto addOperand = [&](ir::ViewIndex::Kind kind, ir::Value *value) {
    slice.view.indices.push_back({kind, static_cast<unsigned>(slice.operands.size()), 0, 0});
    slice.operands.push_back(value);
  };
  if (val.isTileIndex()) {
    if (val.divisor != 1 && !checkDividedTile(slice, subscript, val, dim, position))
      return false;
    if (val.divisor == 1)
      checkTileBounds(slice, subscript, val.value, dim, position);
    addOperand(ir::ViewIndex::Tiled, val.value);
    slice.view.indices.back().divisor = val.divisor;
    return true;
  }
  if (!isOperand(val, subscript.range))
    return false;
  if (val.isInteger() && dim.isConst() && (val.number < 0 || val.number >= static_cast<double>(dim.value))) {
    error(Diag::index_outside, subscript.range, static_cast<int64_t>(val.number), position, slice.view.tensor,
          dim.value);
    return false;
  }
  const ir::Type type = val.type();
  bool isGather = type.isTile() && (type.rows > 1 || type.cols > 1);
  if (!isGather) {
    if (type.kind == ir::Type::Vector) {
      error(Diag::vector_index, subscript.range);
      return false;
    }
    ir::Value *element = toInteger(val, subscript.range, "an index");
    if (!element)
      return false;
    addOperand(ir::ViewIndex::Element, element);
    const bool isCol = isTileAxis(element, 0), isRow = isTileAxis(element, 1);
    if (isCol != isRow)
      slice.singleAxis = isCol ? 0 : 1;
    return true;
  }
  if (!isInteger(type.elem)) {
    error(Diag::not_an_integer, subscript.range, "an index", describe(type));
    return false;
  }
  if (!hasWholeAxis(type, 0, subscript.range) || !hasWholeAxis(type, 1, subscript.range))
    return false;
  slice.hasGather = true;
  addOperand(ir::ViewIndex::Gather, builder.cast(ElemType::I32, val.value));
  return true;
}

/// A tile index that was moved must stay inside, or the slice says `else`; one that was not must belong to a range
/// that ends no later than the dim, as far as both are plain dims. What is read from a tensor is the caller's promise.
void Elaborator::checkTileBounds(Slice &slice, const ast::Subscript &subscript, ir::Value *tileIndex,
                                 const ir::DimExpr &dim, size_t position) {
  ir::Value *root = ir::rootTileIndex(tileIndex);
  if (Bounds::isReadFromTensor(root))
    return;
  bool isMoved = root != tileIndex;
  for (ir::Value *at = tileIndex; at != root; at = at->definingOp->operand(0))
    if (Bounds::isReadFromTensor(at->definingOp->operand(1)))
      return;
  Linear begin = bounds.beginOf(tileIndex), end = bounds.endOf(tileIndex), extent = bounds.linear(dim);
  bool mayStartBefore = !bounds.isNonNegative(begin), mayEndAfter = !bounds.isAtMost(end, extent);
  if (isMoved) {
    if (!mayStartBefore && !mayEndAfter)
      return;
    slice.mayLeave = subscript.range;
    slice.leaving = mayStartBefore ? "start before 0" : "end beyond `" + dim.str() + "`";
    return;
  }
  const ir::Op *loop = root->ownerBlock->parent;
  Linear hi = bounds.linear(loop->operand(1));
  if (mayEndAfter && hi.isSymbolic())
    error(Diag::wrong_range, subscript.range, root->name, text(hi), position, slice.view.tensor, dim.str())
        .note(Diag::note_declared_here, {slice.param->loc, slice.param->loc}, slice.view.tensor);
}

} // namespace tkc::sema
