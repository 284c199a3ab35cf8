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

bool isWorkOnElements(OpKind kind) {
  switch (kind) {
  case OpKind::Const:
  case OpKind::Dim:
  case OpKind::Param:
  case OpKind::Cast:
  case OpKind::Select:
  case OpKind::Full:
  case OpKind::Elements:
  case OpKind::AsCol:
  case OpKind::AsRow:
  case OpKind::Philox:
  case OpKind::Load:
  case OpKind::Store:
  case OpKind::Atomic:
  case OpKind::ExternCall:
    return true;
  default:
    return ir::isElementwiseUnary(kind) || ir::isElementwiseBinary(kind);
  }
}

} // namespace

bool worksOnElementsAfterProducts(const Nest &nest) {
  const auto last = std::find_if(nest.tileOps.rbegin(), nest.tileOps.rend(), isLoopOfProducts).base();
  return last != nest.tileOps.begin() &&
         std::all_of(last, nest.tileOps.end(), [](const ir::Op *op) { return isWorkOnElements(op->kind); });
}

} // namespace tkc::planner
