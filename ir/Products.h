// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What products have in common, with block scales and without.
#pragma once

#include "ir/TileIR.h"

namespace tkc::ir {

inline bool isProduct(OpKind kind) { return kind == OpKind::Dot || kind == OpKind::DotScaled; }
inline bool isProduct(const Op &op) { return isProduct(op.kind); }
inline bool isScaled(const Op &product) { return product.kind == OpKind::DotScaled; }

/// The left (side 0) or right operand of a product.
inline Value *factorOf(const Op &product, size_t side) { return product.operand(isScaled(product) ? 2 * side : side); }
/// Its block scales; null: none.
inline Value *scalesOf(const Op &product, size_t side) {
  return isScaled(product) ? product.operand(2 * side + 1) : nullptr;
}
/// What the product is added to; null: nothing.
inline Value *addendOf(const Op &product) {
  const size_t factors = isScaled(product) ? 4 : 2;
  return product.operands().size() > factors ? product.operand(factors) : nullptr;
}

} // namespace tkc::ir
