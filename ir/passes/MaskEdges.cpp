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
#include "ir/Products.h"
#include "ir/passes/Passes.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

namespace tkc::ir {
namespace {

/// Types whose numbers include what is less and more than all others.
bool hasExtremes(ElemType elem) {
  return (isFloat(elem) && !saturates(elem)) || elem == ElemType::I32 || elem == ElemType::I64;
}

class Masker {
public:
  explicit Masker(Function &function) : function(function) {
    walk(function.body, [&](Op &op) { place.emplace(&op, place.size()); });
  }

  /// Whether a mask of this round changes what the operation sees.
  bool isTouched(const Op &op) const {
    return std::any_of(op.operands().begin(), op.operands().end(),
                       [&](const Value *operand) { return touched.count(operand) != 0; });
  }

  void mask(const EdgeAnalysis::Need &need) {
    Value *value = need.op->operand(need.operand);
    if (isTurnedForProducts(*value))
      return mask({value->definingOp, 0, 1 - need.axis, need.end, need.identity});
    bool isZeroOrOne = need.identity == 0 || need.identity == 1;
    bool hasEdge = (need.axis == 0 ? value->type.rowEnd : value->type.colEnd) != nullptr;
    // Where the mask would change the type, only this use may see it.
    if (!hasEdge || (!isZeroOrOne && !hasExtremes(value->type.elem))) {
      Builder builder(function, need.op->parent);
      builder.setInsertionPointBefore(need.op);
      builder.setLoc(need.op->loc);
      Value *wide = isZeroOrOne ? value : builder.cast(arithmeticType(value->type.elem), value);
      Value *replacement = masked(builder, wide, need);
      need.op->setOperand(need.operand, replacement);
      return touch(replacement);
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
    touch(replacement);
  }

private:
  Function &function;
  std::unordered_map<const Op *, size_t> place; ///< in the order of the function; masks of this round have none
  std::unordered_set<const Value *> touched;

  /// A product reads a transposed value as it lies before it is turned. It is masked there, as a mask behind would have
  /// threads turn it. Where other products read the transposition, too, they go on reading what is not masked.
  static bool isTurnedForProducts(const Value &value) {
    return value.definingOp && value.definingOp->kind == OpKind::Transpose && value.users.size() == 1 &&
           isProduct(*value.users.front());
  }

  /// In order, `first` and what comes after it.
  std::vector<Op *> usersFrom(Op *first, const Value *value) const {
    std::map<size_t, Op *> users;
    for (Op *user : value->users)
      if (auto at = place.find(user); at != place.end() && at->second >= place.at(first))
        users.emplace(at->second, user);
    std::vector<Op *> ordered;
    for (auto &[at, user] : users)
      ordered.push_back(user);
    return ordered;
  }

  /// Everything that is computed from a value.
  void touch(const Value *value) {
    std::vector<const Value *> open{value};
    const auto add = [&](const std::vector<std::unique_ptr<Value>> &values, size_t first) {
      for (size_t i = first; i < values.size(); ++i)
        if (touched.insert(values[i].get()).second)
          open.push_back(values[i].get());
    };
    touched.insert(value);
    while (!open.empty()) {
      const Value *next = open.back();
      open.pop_back();
      for (const Op *user : next->users) {
        const Op *op = user->kind == OpKind::Yield ? user->parent->parent : user;
        add(op->results, 0);
        if (op->kind == OpKind::For)
          add(op->body().args, 1); // what is carried
      }
    }
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
  // An operation has up to two operands that edges concern, with two edges each.
  size_t most = 0;
  walk(function.body, [&](Op &) { most += 4; });
  // A round masks all that no other mask of it bears on: one of each chain, however many there are side by side.
  size_t rounds = 0;
  for (std::vector<EdgeAnalysis::Need> needs; !(needs = EdgeAnalysis(function).unmetNeeds()).empty();) {
    if (++rounds > most)
      throw std::logic_error("mask-edges masks the same operand again and again");
    Masker masker(function);
    for (const EdgeAnalysis::Need &need : needs)
      if (!masker.isTouched(*need.op))
        masker.mask(need);
  }
}

} // namespace tkc::ir
