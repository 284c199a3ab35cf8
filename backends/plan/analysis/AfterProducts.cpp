// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/analysis/AfterProducts.h"

#include "ir/Products.h"

#include <algorithm>

namespace tkc::planner {
namespace {

using ir::OpKind;

bool isLoopOfProducts(const ir::Op *op) {
  return op->kind == OpKind::For && std::any_of(op->bodies.front()->ops.begin(), op->bodies.front()->ops.end(),
                                                [](const auto &inner) { return ir::isProduct(*inner); });
}

/// Spread vectors and accesses to memory take columns for themselves, too.
bool takesAnyColumns(OpKind kind) {
  return kind == OpKind::AsCol || kind == OpKind::AsRow || kind == OpKind::Load || kind == OpKind::Store ||
         kind == OpKind::Atomic || isWorkOnElements(kind);
}

} // namespace

bool isWorkOnElements(OpKind kind) {
  switch (kind) {
  case OpKind::Const:
  case OpKind::Dim:
  case OpKind::Param:
  case OpKind::Full:
  case OpKind::Elements:
  case OpKind::Philox:
  case OpKind::ExternCall:
    return true;
  default:
    return ir::isElementwise(kind);
  }
}

bool worksOnElementsAfterProducts(const Nest &nest) {
  const auto last = std::find_if(nest.tileOps.rbegin(), nest.tileOps.rend(), isLoopOfProducts).base();
  return last != nest.tileOps.begin() &&
         std::all_of(last, nest.tileOps.end(), [](const ir::Op *op) { return takesAnyColumns(op->kind); });
}

} // namespace tkc::planner
