// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Removes what no store needs: marks from the stores backwards, through carried values only where the loop's result or
// its body needs them, and sweeps the rest.
#include "ir/Effects.h"
#include "ir/passes/Passes.h"

#include <unordered_set>

namespace tkc::ir {
namespace {

class Sweeper {
public:
  void run(Function &function) {
    walk(function.body, [&](Op &op) {
      if (op.kind == OpKind::Store || op.kind == OpKind::Atomic)
        needOp(op);
    });
    while (!worklist.empty()) {
      const Value *value = worklist.back();
      worklist.pop_back();
      follow(*value);
    }
    sweep(function.body);
  }

private:
  std::unordered_set<const Op *> neededOps;
  std::unordered_set<const Value *> neededValues;
  std::vector<const Value *> worklist;

  void need(const Value *value) {
    if (neededValues.insert(value).second)
      worklist.push_back(value);
  }

  /// The op runs: so do the ops around it, with their bounds and conditions, and every operand that is no carried
  /// value.
  void needOp(const Op &op) {
    if (!neededOps.insert(&op).second)
      return;
    bool isLoop = op.kind == OpKind::For;
    for (size_t i = 0; i < (isLoop ? 2 : op.operands().size()); ++i)
      need(op.operand(i));
    for (auto &result : op.results)
      for (const Value *end : {result->type.rowEnd, result->type.colEnd})
        if (end)
          need(end);
    if (op.parent->parent)
      needOp(*op.parent->parent);
  }

  void follow(const Value &value) {
    const Op *op = value.definingOp ? value.definingOp : value.ownerBlock->parent;
    needOp(*op);
    if (op->kind == OpKind::For) {
      if (!value.definingOp && value.index == 0)
        return; // the induction variable
      size_t slot = value.definingOp ? value.index : value.index - 1;
      need(op->operand(slot + 2));
      need(op->body().terminator()->operand(slot));
      need(op->body().args[slot + 1].get());
      need(op->result(slot));
    } else if (op->kind == OpKind::If) {
      for (auto &body : op->bodies)
        need(body->terminator()->operand(value.index));
    }
  }

  void sweep(Block &block) {
    for (auto next = block.ops.end(); next != block.ops.begin();) {
      Op &op = **--next;
      if (op.kind == OpKind::Yield)
        continue;
      if (!neededOps.count(&op)) {
        op.dropUses();
        next = block.ops.erase(next);
        continue;
      }
      // First what hands values over, then what used them, then the values.
      if (op.kind == OpKind::For || op.kind == OpKind::If)
        dropOperandsOfDead(op);
      for (auto &body : op.bodies)
        sweep(*body);
      if (op.kind == OpKind::For || op.kind == OpKind::If)
        dropDead(op);
    }
  }

  bool isDead(const Op &op, size_t slot) const { return !neededValues.count(op.result(slot)); }

  void dropOperandsOfDead(Op &op) {
    for (size_t slot = op.results.size(); slot-- > 0;) {
      if (!isDead(op, slot))
        continue;
      for (auto &body : op.bodies)
        body->terminator()->eraseOperand(slot);
      if (op.kind == OpKind::For)
        op.eraseOperand(slot + 2);
    }
  }

  void dropDead(Op &op) {
    for (size_t slot = op.results.size(); slot-- > 0;) {
      if (!isDead(op, slot))
        continue;
      if (op.kind == OpKind::For)
        op.body().args.erase(op.body().args.begin() + static_cast<ptrdiff_t>(slot) + 1);
      op.results.erase(op.results.begin() + static_cast<ptrdiff_t>(slot));
    }
    renumber(op.results);
    for (auto &body : op.bodies) {
      renumber(body->args);
      if (Op *yield = body->terminator(); yield && op.results.empty())
        erase(yield);
    }
  }

  static void renumber(std::vector<std::unique_ptr<Value>> &values) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i]->index = static_cast<unsigned>(i);
  }
};

} // namespace

void eliminateDeadCode(Function &function) { Sweeper().run(function); }

} // namespace tkc::ir
