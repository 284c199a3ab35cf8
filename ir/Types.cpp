// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How shapes, edges and element types combine.
#include "ir/TileIR.h"

namespace tkc::ir {

std::optional<Value *> joinEdges(Value *a, Value *b) {
  if (!a || a == b)
    return b;
  if (!b)
    return a;
  return std::nullopt;
}

ElemType joinElemTypes(ElemType x, ElemType y) {
  ElemType a = arithmeticType(x), b = arithmeticType(y);
  for (ElemType wide : {ElemType::F64, ElemType::F32, ElemType::I64, ElemType::I32})
    if (a == wide || b == wide)
      return wide;
  return a;
}

Value *edgeOf(Value *tileIndex, int64_t divisor) {
  return tileIndex->type.rows == divisor ? nullptr : rootTileIndex(tileIndex);
}

int64_t stepOf(const Value *end, int64_t size) { return end ? end->type.rows / size : 1; }

std::optional<BlockScaling> findBlockScaling(ElemType elem, ElemType scale) {
  const bool isNarrow = isFloat8(elem) || isPackedFloat(elem);
  if (isNarrow && scale == ElemType::F8E8M0)
    return BlockScaling{elem, scale, 32};
  if (elem == ElemType::F4E2M1 && scale == ElemType::F8E4M3)
    return BlockScaling{elem, scale, 16};
  return std::nullopt;
}

bool canMultiplyScaled(ElemType a, ElemType b) {
  const auto mixes = [](ElemType elem) { return isFloat8(elem) || isFloat6(elem); };
  return a == b || (mixes(a) && mixes(b));
}

namespace {

struct Axis {
  int64_t size;
  Value *end;
};

std::optional<Axis> broadcastAxis(Axis x, Axis y) {
  if (x.size == 1)
    return y;
  if (y.size == 1)
    return x;
  std::optional<Value *> end = joinEdges(x.end, y.end);
  if (x.size != y.size || !end)
    return std::nullopt;
  return Axis{x.size, *end};
}

Axis rowsOf(const Type &type) { return {type.rows, type.rowEnd}; }
Axis colsOf(const Type &type) { return {type.cols, type.colEnd}; }

} // namespace

std::optional<Type> broadcast(const Type &x, const Type &y) {
  if (x.kind == Type::TileIndex || y.kind == Type::TileIndex)
    return std::nullopt;
  if (y.isScalar())
    return x;
  if (x.isScalar()) {
    Type result = y;
    result.elem = x.elem;
    return result;
  }
  if (x.kind != y.kind)
    return std::nullopt;
  if (x.kind == Type::Vector && x.rows != y.rows)
    return std::nullopt; // a vector of one is no scalar
  std::optional<Axis> rows = broadcastAxis(rowsOf(x), rowsOf(y)), cols = broadcastAxis(colsOf(x), colsOf(y));
  if (!rows || !cols)
    return std::nullopt;
  return Type{x.kind, x.elem, rows->size, cols->size, rows->end, cols->end};
}

std::optional<Type> viewType(ElemType elem, const View &view, const std::vector<Value *> &operands) {
  std::vector<Axis> axes;
  std::optional<Type> gathered;
  for (const ViewIndex &index : view.indices) {
    switch (index.kind) {
    case ViewIndex::Element:
      break;
    case ViewIndex::Tiled:
      axes.push_back(
          {operands[index.operand]->type.rows / index.divisor, edgeOf(operands[index.operand], index.divisor)});
      break;
    case ViewIndex::All:
    case ViewIndex::Span:
      axes.push_back({index.hi - index.lo, nullptr});
      break;
    case ViewIndex::Gather: {
      const Type &type = operands[index.operand]->type;
      if (!type.isTile() || !isInteger(type.elem))
        return std::nullopt;
      gathered = gathered ? broadcast(*gathered, type) : type;
      if (!gathered)
        return std::nullopt;
      break;
    }
    }
  }
  if (gathered) {
    // A column of indices makes the rows and leaves the columns to the one axis that the slice may keep besides.
    Type result = *gathered;
    result.elem = elem;
    if (axes.empty())
      return result;
    if (axes.size() > 1)
      return std::nullopt;
    if (result.isColumn())
      return Type::tile(elem, result.rows, axes[0].size, result.rowEnd, axes[0].end);
    if (result.isRow())
      return Type::tile(elem, axes[0].size, result.cols, axes[0].end, result.colEnd);
    return std::nullopt;
  }
  switch (axes.size()) {
  case 0:
    return Type::scalar(elem);
  case 1:
    return Type::vector(elem, axes[0].size, axes[0].end);
  case 2:
    return Type::tile(elem, axes[0].size, axes[1].size, axes[0].end, axes[1].end);
  default:
    return std::nullopt;
  }
}

} // namespace tkc::ir
