// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/IndexSums.h"

namespace tkc::planner {
namespace {

bool isComparison(ir::OpKind kind) {
  return kind == ir::OpKind::Eq || kind == ir::OpKind::Ne || kind == ir::OpKind::Lt || kind == ir::OpKind::Le ||
         kind == ir::OpKind::Gt || kind == ir::OpKind::Ge;
}

} // namespace

std::optional<IndexSum> asIndexSum(const ir::Value *value) {
  const ir::Op *op = value->definingOp;
  if (!op)
    return std::nullopt;
  if (op->kind == ir::OpKind::Elements)
    return IndexSum{op, {}};
  if ((op->kind != ir::OpKind::Add && op->kind != ir::OpKind::Sub) || value->type.elem != ElemType::I32)
    return std::nullopt;
  for (size_t scalar : {1, 0}) {
    if (!op->operand(scalar)->type.isScalar() || (scalar == 0 && op->kind == ir::OpKind::Sub))
      continue;
    std::optional<IndexSum> sum = asIndexSum(op->operand(1 - scalar));
    if (sum)
      sum->terms.emplace_back(op->operand(scalar), op->kind == ir::OpKind::Sub);
    return sum;
  }
  return std::nullopt;
}

std::optional<std::pair<IndexSum, IndexSum>> asIndexComparison(const ir::Op &op) {
  if (!isComparison(op.kind))
    return std::nullopt;
  std::optional<IndexSum> left = asIndexSum(op.operand(0)), right = asIndexSum(op.operand(1));
  if (!left || !right || left->elements->axis == right->elements->axis)
    return std::nullopt;
  return std::pair{*left, *right};
}

} // namespace tkc::planner
