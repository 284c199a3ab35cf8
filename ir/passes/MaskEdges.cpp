// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks what stands beyond an edge where an operation would see it and nothing proves it harmless:
//   %m = rowmax %s        with zeros beyond the end of %j, the range's end being %L
// ⇒ %in = lt (elements row %j), %L
//   %s' = select %in, %s, -inf
//   %m = rowmax %s'
// The mask goes where the value is made and serves this use and the later ones: in attention `s` is masked once, after
// which `exp2(s - top)` is zero beyond the edge by itself. Earlier uses keep what they have, so that an operation that
// is served stays so, and each needs one mask at most. What a mask changes does not exist: the interpreter gives the
// same before and after. Runs before split-loops, which leaves such a mask in a loop's last tile.
#include "ir/EdgeAnalysis.h"
#include "ir/Effects.h"
#include "ir/passes/Passes.h"

#include <unordered_set>

namespace tkc::ir {
namespace {

/// Types whose numbers include what is less and more than all others.
bool hasExtremes(ElemType elem) { return (isFloat(elem) && !isFloat8(elem)) || elem == ElemType::I32; }

class Masker {
public:
  explicit Masker(Function &function) : function(function) {}

  void mask(const EdgeAnalysis::Need &need) {
    Value *value = need.op->operand(need.operand);
    bool isZeroOrOne = need.identity == 0 || need.identity == 1;
    bool hasEdge = (need.axis == 0 ? value->type.rowEnd : value->type.colEnd) != nullptr;
    // Where the mask would change the type, only this use may see it.
    if (!hasEdge || (!isZeroOrOne && !hasExtremes(value->type.elem))) {
      Builder builder(function, need.op->parent);
      builder.setInsertionPointBefore(need.op);
      builder.setLoc(need.op->loc);
      Value *wide = isZeroOrOne ? value : builder.cast(arithmeticType(value->type.elem), value);
      need.op->setOperand(need.operand, masked(builder, wide, need));
      return;
    }
    Block *block = value->definingOp ? value->definingOp->parent : value->ownerBlock;
    Builder builder(function, block);
    auto after = value->definingOp ? std::next(value->definingOp->position) : block->ops.begin();
    builder.setInsertionPointBefore(after->get());
    builder.setLoc(value->definingOp ? value->definingOp->loc : need.op->loc);
    std::vector<Op *> users = usersFrom(need.op, value);
    Value *replacement = masked(builder, value, need);
    for (Op *user : users)
      for (size_t i = 0; i < user->operands().size(); ++i)
        if (user->operand(i) == value)
          user->setOperand(i, replacement);
  }

private:
  Function &function;

  /// In order, `first` and what comes after it.
  std::vector<Op *> usersFrom(Op *first, const Value *value) {
    std::unordered_set<const Op *> all(value->users.begin(), value->users.end());
    std::vector<Op *> users;
    bool reached = false;
    walk(function.body, [&](Op &op) {
      reached |= &op == first;
      if (reached && all.count(&op))
        users.push_back(&op);
    });
    return users;
  }

  /// What stands under a mask of this edge, which another one replaces.
  static Value *unmasked(Value *value, const EdgeAnalysis::Need &need) {
    return EdgeAnalysis::isMaskOf(value, need.end, need.axis) ? value->definingOp->operand(1) : value;
  }

  static Value *masked(Builder &builder, Value *value, const EdgeAnalysis::Need &need) {
    value = unmasked(value, need);
    Value *end = RangeAnalysis::rangeOf(need.end).second;
    Value *exists = builder.binary(OpKind::Lt, builder.elements(need.end, need.axis), end);
    Value *identity = builder.constant(value->type.elem, need.identity);
    Value *result = builder.select(exists, value, identity);
    result->name = value->name;
    return result;
  }
};

} // namespace

void maskEdges(Function &function) {
  while (std::optional<EdgeAnalysis::Need> need = EdgeAnalysis(function).firstUnmet())
    Masker(function).mask(*need);
}

} // namespace tkc::ir
