// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/RowParts.h"

#include "backends/plan/Walk.h"

#include <algorithm>

namespace tkc::planner {
namespace {

/// What one carried value of a loop is computed from.
struct Recurrence {
  const ir::Value *arg = nullptr, *result = nullptr, *initial = nullptr;
  const ir::Op *sum = nullptr;
};

bool isOnlyUsedBy(const ir::Value *value, const ir::Op *user) {
  return value->users.size() == 1 && value->users.front() == user;
}

bool isZero(const ir::Value *value) {
  const ir::Op *op = value->definingOp;
  if (!op || op->kind != ir::OpKind::Full)
    return false;
  const ir::Op *element = op->operand(0)->definingOp;
  return element && element->kind == ir::OpKind::Const && element->constant == 0;
}

/// arg, or arg times what is the same in all threads of a row; nothing else reads either.
bool isScaled(const ir::Value *value, const ir::Value *arg, const ir::Op *user) {
  if (!isOnlyUsedBy(value, user))
    return false;
  if (value == arg)
    return true;
  const ir::Op *op = value->definingOp;
  return op && op->kind == ir::OpKind::Mul && isOnlyUsedBy(arg, op) && op->operand(0) != op->operand(1) &&
         (op->operand(0) == arg || op->operand(1) == arg);
}

class Finder {
public:
  Finder(const Placement &placement, std::optional<bool> lateSums) : placement(placement), lateSums(lateSums) {}

  void loop(const ir::Op &loop) {
    const ir::Op *yield = loop.body().ops.empty() ? nullptr : loop.body().ops.back().get();
    if (!yield || yield->kind != ir::OpKind::Yield)
      return;
    for (size_t i = 0; i < yield->operands().size(); ++i) {
      Recurrence found{loop.body().args[i + 1].get(), loop.result(i), loop.operand(i + 2)};
      if (matches(yield->operand(i), *yield, found))
        add(loop, found);
    }
  }

  RowParts run() {
    for (const ir::Value *result : results) // those that no further loop goes on with
      if (!continued.count(result))
        parts.ends.insert(result);
    return std::move(parts);
  }

private:
  bool matches(const ir::Value *next, const ir::Op &yield, Recurrence &found) const {
    const ir::Op *add = next->definingOp;
    if (!add || add->kind != ir::OpKind::Add || !isOnlyUsedBy(next, &yield))
      return false;
    for (const size_t side : {0, 1}) {
      const ir::Op *sum = add->operand(side)->definingOp;
      if (sum && isRowSum(*sum) && isOnlyUsedBy(sum->result(), add) &&
          isScaled(add->operand(1 - side), found.arg, add)) {
        found.sum = sum;
        return true;
      }
    }
    return false;
  }

  bool isLate(const plan::Layout &layout) const {
    return (layout.kind == plan::Layout::WarpMma && lateSums.value_or(true)) ||
           (layout.kind == plan::Layout::Mma && lateSums.value_or(false));
  }

  bool isRowSum(const ir::Op &op) const {
    if (op.kind != ir::OpKind::Reduce || op.axis != 1 || op.reduce != ir::ReduceKind::Sum)
      return false;
    const auto type = placement.types.find(op.operand(0));
    return type != placement.types.end() && type->second.kind == plan::VarType::Fragment &&
           isLate(type->second.layout) && type->second.division != plan::Division::Cols &&
           type->second.cols == op.operand(0)->type.cols;
  }

  void add(const ir::Op &loop, const Recurrence &found) {
    const bool goesOn = parts.carried.count(found.initial) != 0 && isOnlyUsedBy(found.initial, &loop);
    if (!goesOn && !isZero(found.initial))
      return;
    if (goesOn)
      continued.insert(found.initial);
    parts.carried.insert({found.arg, found.result});
    parts.sums.insert(found.sum);
    results.push_back(found.result);
  }

  const Placement &placement;
  const std::optional<bool> lateSums;
  RowParts parts;
  std::vector<const ir::Value *> results;
  std::set<const ir::Value *> continued;
};

} // namespace

RowParts findRowParts(const Nest &nest, const Placement &placement, const Schedule &schedule) {
  Finder finder(placement, schedule.lateSums);
  walkTile(nest, [&](const ir::Op &op, int) {
    if (op.kind == ir::OpKind::For)
      finder.loop(op);
  });
  return finder.run();
}

} // namespace tkc::planner
