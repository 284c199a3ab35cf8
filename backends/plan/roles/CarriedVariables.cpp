// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/CarriedVariables.h"

#include "ir/Products.h"

#include <algorithm>
#include <limits>

namespace tkc::planner {
namespace {

bool readsDeep(const ir::Op &op, const ir::ValueSet &values) {
  const auto &operands = op.operands();
  if (std::any_of(operands.begin(), operands.end(), [&](const ir::Value *it) { return values.count(it) != 0; }))
    return true;
  for (const auto &body : op.bodies)
    for (const auto &inner : body->ops)
      if (readsDeep(*inner, values))
        return true;
  return false;
}

} // namespace

const ir::Op *yieldOf(const ir::Block &body) {
  return body.ops.empty() || body.ops.back()->kind != ir::OpKind::Yield ? nullptr : body.ops.back().get();
}

bool isRenaming(const ir::Op &op) {
  return op.kind == ir::OpKind::AsCol || op.kind == ir::OpKind::AsRow || op.kind == ir::OpKind::ToScalar;
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

/// All that is, or will be, in the variable of `arg`: what renames it, products that add to it and loops that go on
/// with it where nothing else needs it, and so on.
CarriedVariables::Values CarriedVariables::sharersOf(const ir::Value *arg) const {
  Values sharers;
  std::vector<const ir::Value *> open{arg};
  const auto share = [&](const ir::Value *value, const ir::Value *with) {
    if (builder.typeOf(value) == builder.typeOf(with))
      open.push_back(value);
  };
  while (!open.empty()) {
    const ir::Value *value = open.back();
    open.pop_back();
    if (!sharers.insert(value).second)
      continue;
    for (const ir::Op *user : value->users)
      if (isRenaming(*user) || (ir::isProduct(*user) && ir::addendOf(*user) == value && diesAt(value, *user)))
        share(user->result(), value);
      else if (user->kind == ir::OpKind::For && diesAt(value, *user))
        for (size_t i = 2; i < user->operands().size(); ++i)
          if (user->operand(i) == value)
            share(user->body().args[i - 1].get(), value), share(user->result(i - 2), value);
  }
  return sharers;
}

/// Whether something needs what the variable of `arg` held before `value` was computed into it at `at`.
bool CarriedVariables::isNeededAfter(const ir::Value *value, const ir::Value *arg,
                                     const std::vector<ScheduledOp> &order,
                                     std::vector<ScheduledOp>::const_iterator at) const {
  Values old = sharersOf(arg);
  old.erase(value);
  const auto reads = [&](const ScheduledOp &item) { return item.stage == 0 && readsDeep(*item.op, old); };
  // What is an iteration late comes before all of the next iteration that reads it; the yield has passed by then.
  if (at->stage > 0)
    return std::any_of(order.begin(), at, reads);
  const ir::Op &last = *yieldOf(*arg->ownerBlock);
  return readsDeep(last, old) ||
         std::any_of(at + 1, order.end(), [&](const ScheduledOp &item) { return readsDeep(*item.op, old); });
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
  if (isNeededAfter(value, arg, order, at))
    return false;
  if (ir::isProduct(*op) && ir::addendOf(*op) && !coalesce(ir::addendOf(*op), arg, order))
    return false;
  builder.alias(value, builder.use(arg));
  return true;
}

bool CarriedVariables::canBeLate(const ir::Op &loop, const std::vector<ScheduledOp> &order) const {
  const ir::Op *last = yieldOf(loop.body());
  return std::all_of(order.begin(), order.end(), [&](const ScheduledOp &item) {
    if (item.stage == 0)
      return true;
    for (size_t i = 0; i < last->operands().size(); ++i)
      if (last->operand(i) == item.op->result())
        return builder.isDefined(item.op->result()) &&
               builder.use(item.op->result()) == builder.use(loop.body().args[i + 1].get());
    return false;
  });
}

void CarriedVariables::yield(const ir::Op &loop) {
  const ir::Op *last = yieldOf(loop.body());
  if (!last)
    return;
  Moves moves;
  for (size_t i = 0; i < last->operands().size(); ++i) {
    const std::string dest = builder.use(loop.body().args[i + 1].get());
    if (builder.isDefined(last->operand(i)) && dest != builder.use(last->operand(i)))
      moves.emplace_back(dest, builder.use(last->operand(i)));
  }
  emitMoves(std::move(moves), loop.loc);
}

/// One whose variable no other still reads comes next; of a cycle, one value is saved.
void CarriedVariables::emitMoves(Moves moves, SourceLoc loc) {
  const auto isFree = [&](const Move &move) {
    return std::none_of(moves.begin(), moves.end(), [&](const Move &other) { return other.second == move.first; });
  };
  while (!moves.empty()) {
    const auto next = std::find_if(moves.begin(), moves.end(), isFree);
    if (next != moves.end()) {
      builder.emitMove(next->first, next->second, loc);
      moves.erase(next);
      continue;
    }
    const std::string held = moves.front().first;
    const std::string saved = builder.declare(held + "_old", builder.role.findVar(held)->type);
    builder.emitMove(saved, held, loc);
    for (Move &move : moves)
      if (move.second == held)
        move.second = saved;
  }
}

} // namespace tkc::planner
