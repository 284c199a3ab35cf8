// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/Effects.h"

#include "support/Tensor.h"

#include <unordered_set>

namespace tkc::ir {

bool isPure(const Op &op) { return !hasEffect(op.kind) && op.kind != OpKind::ExternCall; }

bool isStableLoad(const Function &function, const Op &op) {
  return op.kind == OpKind::Load && function.findParam(op.view.tensor)->mode == ParamMode::In;
}

bool writesMemory(const Op &op) {
  if (op.kind == OpKind::Store || op.kind == OpKind::Atomic)
    return true;
  for (auto &body : op.bodies)
    for (auto &child : body->ops)
      if (writesMemory(*child))
        return true;
  return false;
}

std::optional<double> constantOf(const Value *value) {
  const Op *op = value->definingOp;
  if (!op)
    return std::nullopt;
  if (op->kind == OpKind::Const)
    return op->constant;
  if (op->kind == OpKind::Full)
    return constantOf(op->operand(0));
  if (op->kind == OpKind::Cast)
    if (std::optional<double> source = constantOf(op->operand(0)))
      return roundTo(value->type.elem, *source);
  return std::nullopt;
}

bool isConstant(const Value *value, double number) {
  std::optional<double> constant = constantOf(value);
  return constant && *constant == number;
}

Op *definedBy(const Value *value, OpKind kind) {
  return value->definingOp && value->definingOp->kind == kind ? value->definingOp : nullptr;
}

static bool followsFromShapes(const Value *value, std::unordered_set<const Value *> &seen) {
  if (!seen.insert(value).second)
    return true;
  const Op *op = value->definingOp;
  size_t numOperands = op ? op->operands().size() : 2;
  if (!op) {
    op = value->ownerBlock->parent;
    if (value->index != 0 || op->kind == OpKind::If)
      return false; // a carried value
  } else if (!isPure(*op) || op->kind == OpKind::Param || op->kind == OpKind::Philox) {
    return false;
  }
  for (size_t i = 0; i < numOperands; ++i)
    if (!followsFromShapes(op->operand(i), seen))
      return false;
  return true;
}

bool followsFromShapes(const Value *value) {
  std::unordered_set<const Value *> seen;
  return followsFromShapes(value, seen);
}

bool runsAtMostOnce(const Op &loop) {
  const Op *count = loop.tileSize == 0 ? definedBy(loop.operand(1), OpKind::Cast) : nullptr;
  return count && count->operand(0)->type.elem == ElemType::Bool && isConstant(loop.operand(0), 0);
}

bool isWithin(const Block *inner, const Block &block) {
  for (; inner; inner = inner->parent ? inner->parent->parent : nullptr)
    if (inner == &block)
      return true;
  return false;
}

bool isDefinedIn(const Value *value, const Block &block) {
  return isWithin(value->definingOp ? value->definingOp->parent : value->ownerBlock, block);
}

} // namespace tkc::ir
