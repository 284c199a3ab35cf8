// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/CarriedVariables.h"

#include "ir/Products.h"

#include <algorithm>
#include <limits>

namespace tkc::planner {
namespace {

bool readsDeep(const ir::Op &op, const ir::Value *value) {
  const auto &operands = op.operands();
  if (std::find(operands.begin(), operands.end(), value) != operands.end())
    return true;
  for (const auto &body : op.bodies)
    for (const auto &inner : body->ops)
      if (readsDeep(*inner, value))
        return true;
  return false;
}

/// Ops whose result may be another value's variable.
bool isRenaming(const ir::Op &op) {
  return op.kind == ir::OpKind::AsCol || op.kind == ir::OpKind::AsRow || op.kind == ir::OpKind::ToScalar;
}

} // namespace

const ir::Op *yieldOf(const ir::Block &body) {
  return body.ops.empty() || body.ops.back()->kind != ir::OpKind::Yield ? nullptr : body.ops.back().get();
}

const ir::Op *repeatingOp(const ir::Block *block) {
  while (block && block->parent && block->parent->kind == ir::OpKind::Parallel)
    block = block->parent->parent;
  return block ? block->parent : nullptr;
}

bool diesAt(const ir::Value *value, const ir::Op &user) {
  const ir::Block *made = value->definingOp ? value->definingOp->parent : value->ownerBlock;
  return value->users.size() == 1 && repeatingOp(made) == repeatingOp(user.parent);
}

void CarriedVariables::begin(const ir::Op &loop) {
  for (size_t i = 2; i < loop.operands().size(); ++i) {
    const ir::Value *initial = loop.operand(i);
    const ir::Value *arg = loop.body().args[i - 1].get();
    if (lowest.count(arg))
      beginLowest(arg, loop.loc);
    else if (diesAt(initial, loop) && isOwn(initial) && builder.typeOf(initial) == builder.typeOf(arg))
      builder.alias(arg, builder.use(initial));
    else
      builder.emitMove(builder.define(arg), builder.use(initial), loop.loc);
  }
}

/// A thread that has seen no element, or none but -inf, has this maximum: differences of infinities are none.
void CarriedVariables::beginLowest(const ir::Value *arg, SourceLoc loc) {
  const std::string dest = builder.define(arg);
  plan::Stmt &stmt = builder.emit(plan::StmtKind::Compute, loc);
  stmt.op = ir::OpKind::Const;
  stmt.constant = static_cast<double>(std::numeric_limits<float>::lowest());
  stmt.dest = dest;
}

/// Whether the role computed the value into a variable of its own, not an alias of another value's.
bool CarriedVariables::isOwn(const ir::Value *value) const {
  const ir::Op *op = value->definingOp;
  return op && computed.count(op) && !isRenaming(*op) && builder.role.findVar(builder.use(value)) != nullptr;
}

void CarriedVariables::coalesce(const ir::Op &loop, const std::vector<ScheduledOp> &order) {
  if (const ir::Op *last = yieldOf(loop.body()))
    for (size_t i = 0; i < last->operands().size(); ++i)
      coalesce(last->operand(i), loop.body().args[i + 1].get(), order);
}

bool CarriedVariables::coalesce(const ir::Value *value, const ir::Value *arg, const std::vector<ScheduledOp> &order) {
  if (value == arg)
    return true;
  const ir::Op *op = value->definingOp;
  const auto at = std::find_if(order.begin(), order.end(), [&](const ScheduledOp &item) { return item.op == op; });
  if (!op || at == order.end() || builder.isDefined(value) || value->users.size() != 1 ||
      !(builder.typeOf(value) == builder.typeOf(arg)))
    return false;
  if (op->kind == ir::OpKind::For || op->kind == ir::OpKind::If || op->kind == ir::OpKind::Transpose || isRenaming(*op))
    return false;
  if (at->stage == 0)
    for (auto later = at + 1; later != order.end(); ++later)
      if (readsDeep(*later->op, arg))
        return false;
  if (ir::isProduct(*op) && ir::addendOf(*op) && !coalesce(ir::addendOf(*op), arg, order))
    return false;
  builder.alias(value, builder.use(arg));
  return true;
}

void CarriedVariables::yield(const ir::Op &loop) {
  const ir::Op *last = yieldOf(loop.body());
  if (!last)
    return;
  std::vector<std::pair<std::string, std::string>> moves;
  for (size_t i = 0; i < last->operands().size(); ++i) {
    const std::string dest = builder.use(loop.body().args[i + 1].get());
    if (builder.isDefined(last->operand(i)) && dest != builder.use(last->operand(i)))
      moves.emplace_back(dest, builder.use(last->operand(i)));
  }
  for (size_t i = 0; i < moves.size(); ++i)
    for (size_t j = i + 1; j < moves.size(); ++j)
      if (moves[j].second == moves[i].first) {
        const std::string saved = builder.declare(moves[i].first + "_old", builder.role.findVar(moves[i].first)->type);
        builder.emitMove(saved, moves[i].first, loop.loc);
        moves[j].second = saved;
      }
  for (const auto &[dest, source] : moves)
    builder.emitMove(dest, source, loop.loc);
}

} // namespace tkc::planner
