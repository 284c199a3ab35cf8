// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves out of a loop what every iteration computes alike: pure ops whose operands come from outside, and loads from
// tensors that the kernel does not write. A load whose indices are not known to be good for something where the loop is
// empty moves only out of a loop that runs at least once. A dim may be 0. Blocks of the grid keep what they have:
// `parallel` is no loop. Inner loops first, so that a value leaves as many loops as it can.
#include "ir/Effects.h"
#include "ir/RangeAnalysis.h"
#include "ir/passes/Passes.h"

#include "llvm/Support/ErrorHandling.h"

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
      if ((isPure(op) || (isStableLoad(function, op) && (runs || isInside(op)))) && isInvariant(op, body))
        moveBefore(&op, &loop);
    }
  }

  /// Whether all that a load asks for is in the tensor, or is said by its `else`, whatever the loop does.
  bool isInside(const Op &load) {
    if (load.hasElse)
      return true;
    const Param &tensor = *function.findParam(load.view.tensor);
    for (size_t i = 0; i < load.view.indices.size(); ++i)
      if (!isInside(load, load.view.indices[i], ranges.formOf(tensor.dims[i])))
        return false;
    return true;
  }

  bool isInside(const Op &load, const ViewIndex &index, const Affine &dim) {
    switch (index.kind) {
    case ViewIndex::All:
    case ViewIndex::Span:
      return true;
    case ViewIndex::Element: {
      const Affine at = ranges.formOf(load.operand(index.operand));
      return ranges.isNonNegative(at) && ranges.isNonNegative(dim - at - 1);
    }
    case ViewIndex::Tiled: {
      Value *tile = load.operand(index.operand);
      return index.divisor == 1 && ranges.isNonNegative(ranges.beginOf(tile)) &&
             ranges.isNonNegative(dim - ranges.endOf(tile));
    }
    case ViewIndex::Gather:
      return false;
    }
    llvm_unreachable("a view's index");
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
