// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the passes ask about ops: may it move, may it go, is it a known number.
#pragma once

#include "ir/TileIR.h"

#include <unordered_set>
#include <vector>

namespace tkc::ir {

/// Its results depend on its operands alone, and computing it does nothing else: element-wise ops, products, …
bool isPure(const Op &op);
/// A load from a tensor that the kernel never writes: gives the same wherever it stands.
bool isStableLoad(const Function &function, const Op &op);
/// Stores or adds to memory, here or in a body.
bool writesMemory(const Op &op);

/// The number that every element of `value` is, if that is known: a `const`, or a `full` or a `cast` of one.
std::optional<double> constantOf(const Value *value);
bool isConstant(const Value *value, double number);
/// `value`'s defining op if it is of this kind, else null.
Op *definedBy(const Value *value, OpKind kind);
/// Made of constants, dims and induction variables alone: no tensor and no parameter has a say.
bool followsFromShapes(const Value *value);
/// Walks back from `value` over what it is made of: `visit` adds to its second argument where to go on from a value,
/// and stops the walk with true, which is the result. Every value is visited once, however many paths lead to it.
template <class Visit> bool searchBack(const Value *value, Visit visit) {
  std::unordered_set<const Value *> seen{value};
  std::vector<const Value *> open{value}, next;
  while (!open.empty()) {
    const Value *at = open.back();
    open.pop_back();
    next.clear();
    if (visit(at, next))
      return true;
    for (const Value *each : next)
      if (seen.insert(each).second)
        open.push_back(each);
  }
  return false;
}
/// A loop that loop-branches made of one side of a branch.
bool runsAtMostOnce(const Op &loop);
/// `inner` is `block` or a body within it.
bool isWithin(const Block *inner, const Block &block);
/// `value` is an argument of `block` or made by an op in it or in a body within it.
bool isDefinedIn(const Value *value, const Block &block);

} // namespace tkc::ir
