// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/Views.h"

namespace tkc::ir {

bool isDim(const Value *value, const DimExpr &dim) {
  const Op *op = value->definingOp;
  if (op && op->kind == OpKind::Dim)
    return dim.kind == DimExpr::Symbol && dim.symbol == op->name;
  return op && op->kind == OpKind::Const && dim.isConst() && static_cast<double>(dim.value) == op->constant;
}

std::pair<int, int> rangedDims(const View &view) {
  int first = -1, second = -1;
  for (size_t i = 0; i < view.indices.size(); ++i) {
    if (view.indices[i].kind == ViewIndex::Element)
      continue;
    (first < 0 ? first : second) = static_cast<int>(i);
  }
  return second < 0 ? std::pair{-1, first} : std::pair{first, second};
}

} // namespace tkc::ir
