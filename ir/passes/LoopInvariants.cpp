// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves out of a loop what every iteration computes alike: pure ops whose operands come from outside, and loads from
// tensors that the kernel does not write. A load moves only out of a loop that runs at least once: its indices may be
// good for nothing where the loop is empty. Blocks of the grid keep what they have: `parallel` is no loop.
// Inner loops first, so that a value leaves as many loops as it can.
#include "ir/Effects.h"
#include "ir/RangeAnalysis.h"
#include "ir/passes/Passes.h"

namespace tkc::ir {
namespace {

class Hoister {
public:
  explicit Hoister(Function &function) : function(function), ranges(function) {}

  void run(Block &block) {
    for (auto &op : block.ops) {
      for (auto &body : op->bodies)
        run(*body);
      if (op->kind == OpKind::For)
        hoistFrom(*op);
    }
  }

private:
  Function &function;
  RangeAnalysis ranges;

  void hoistFrom(Op &loop) {
    Block &body = loop.body();
    bool runs = ranges.isLess(loop.operand(0), loop.operand(1));
    for (auto next = body.ops.begin(); next != body.ops.end();) {
      Op &op = **next++;
      if ((isPure(op) || (runs && isStableLoad(function, op))) && isInvariant(op, body))
        moveBefore(&op, &loop);
    }
  }

  static bool isInvariant(const Op &op, const Block &body) {
    for (const Value *operand : op.operands())
      if (isDefinedIn(operand, body))
        return false;
    return true;
  }
};

} // namespace

void hoistLoopInvariants(Function &function) { Hoister(function).run(function.body); }

} // namespace tkc::ir
