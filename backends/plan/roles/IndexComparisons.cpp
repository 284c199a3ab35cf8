// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/IndexComparisons.h"

namespace tkc::planner {
namespace {

bool isComparison(ir::OpKind kind) {
  return kind == ir::OpKind::Eq || kind == ir::OpKind::Ne || kind == ir::OpKind::Lt || kind == ir::OpKind::Le ||
         kind == ir::OpKind::Gt || kind == ir::OpKind::Ge;
}

class Comparison {
public:
  Comparison(const ir::Op &op, RoleBuilder &builder) : op(op), builder(builder) {}

  void lower(const IndexSum &left, const IndexSum &right) {
    const std::string apart = difference(right, left);
    const std::string places[] = {placesIn(op.operand(0)), placesIn(op.operand(1))};
    const std::string moved = combine(ir::OpKind::Add, places[1], apart, builder.typeOf(op.operand(1)));
    compute(op.kind, builder.define(op.result()), {places[0], moved});
  }

private:
  std::string placesIn(const ir::Value *side) {
    return compute(ir::OpKind::Iota, builder.declare("iota_value", builder.typeOf(side)), {});
  }

  /// (begin of plus + its terms) - (begin of minus + its terms)
  std::string difference(const IndexSum &plus, const IndexSum &minus) {
    std::string sum = beginOf(plus);
    sum = combine(ir::OpKind::Sub, sum, beginOf(minus), scalar);
    for (const auto &[value, subtracted] : plus.terms)
      sum = combine(subtracted ? ir::OpKind::Sub : ir::OpKind::Add, sum, builder.use(value), scalar);
    for (const auto &[value, subtracted] : minus.terms)
      sum = combine(subtracted ? ir::OpKind::Add : ir::OpKind::Sub, sum, builder.use(value), scalar);
    return sum;
  }

  std::string beginOf(const IndexSum &sum) {
    return compute(ir::OpKind::Begin, builder.declare("begin_value", scalar), {builder.use(sum.elements->operand(0))});
  }

  /// A fresh variable = left `kind` right.
  std::string combine(ir::OpKind kind, const std::string &left, const std::string &right, const plan::VarType &type) {
    return compute(kind, builder.declare(std::string(ir::spelling(kind)) + "_value", type), {left, right});
  }

  std::string compute(ir::OpKind kind, const std::string &dest, std::vector<std::string> operands) {
    plan::Stmt &stmt = builder.emit(plan::StmtKind::Compute, op.loc);
    stmt.op = kind;
    stmt.dest = dest;
    stmt.operands = std::move(operands);
    return dest;
  }

  const ir::Op &op;
  RoleBuilder &builder;
  const plan::VarType scalar = scalarOrIndexType(ir::Type::scalar(ElemType::I32));
};

} // namespace

void lowerIndexComparison(const ir::Op &op, const IndexSum &left, const IndexSum &right, RoleBuilder &builder) {
  Comparison(op, builder).lower(left, right);
}

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
