// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over one range that has a single tile at most, as one loop:
//   %sum = for %c in tiles(0, %C, 512) of one carry(%s = %none) { %x = load x[%c] … yield %n }
//   %r = rsqrt %sum
//   for %d in tiles(0, %C, 512) of one { %y = load x[%d] … mul %y, %r … }
// ⇒ for %d in tiles(0, %C, 512) of one { %x = load x[%d] … %r = rsqrt %n   %y = load x[%d] … mul %y, %r … }
// A kernel for rows of every length goes along a row twice. Where a schedule serves short rows only (`when C <= 512`),
// the row is a single tile. Then cse finds that both loads are one, and the row stays in registers.
#include "ir/Effects.h"
#include "ir/passes/Passes.h"

#include <algorithm>
#include <memory>
#include <unordered_set>

namespace tkc::ir {
namespace {

class Joiner {
public:
  explicit Joiner(Function &function) : function(function) {}

  void run(Block &block) {
    for (auto next = block.ops.begin(); next != block.ops.end();) {
      Op &op = **next++;
      for (auto &body : op.bodies)
        run(*body);
      if (op.kind == OpKind::For && op.constant == 1)
        if (const Op *joined = joinWithNext(op))
          next = joined->position;
    }
  }

private:
  Function &function;
  std::vector<Op *> between;             ///< the loops that are joined
  std::unordered_set<const Op *> follow; ///< of those what needs the first loop

  static bool haveSameRange(const Op &x, const Op &y) {
    return x.kind == OpKind::For && y.kind == OpKind::For && x.tileSize == y.tileSize && x.operand(0) == y.operand(0) &&
           x.operand(1) == y.operand(1);
  }

  /// The next loop over the range, if nothing before it does more than compute.
  Op *nextLoop(const Op &first) {
    between.clear();
    for (auto at = std::next(first.position); at != first.parent->ops.end(); ++at) {
      if (haveSameRange(first, **at))
        return at->get();
      if (!isPure(**at) && !isStableLoad(function, **at))
        return nullptr;
      between.push_back(at->get());
    }
    return nullptr;
  }

  bool needsFirst(const Op &op, const Op &first) const {
    return std::any_of(op.operands().begin(), op.operands().end(), [&](const Value *operand) {
      return operand->definingOp && (operand->definingOp == &first || follow.count(operand->definingOp));
    });
  }

  /// Whether nobody else reads what `op` makes: behind the second loop it is there without an iteration, too.
  bool isForSecond(const Op &op, const Op &second) const {
    return std::all_of(op.results.begin(), op.results.end(), [&](const std::unique_ptr<Value> &result) {
      return std::all_of(result->users.begin(), result->users.end(),
                         [&](const Op *user) { return follow.count(user) || isWithin(user->parent, second.body()); });
    });
  }

  /// The loop that does the work of both; null: there is none.
  Op *joinWithNext(Op &first) {
    Op *second = nextLoop(first);
    if (!second)
      return nullptr;
    follow.clear();
    for (const Op *op : between)
      if (needsFirst(*op, first))
        follow.insert(op);
    const bool isClosed = isForSecond(first, *second) && std::all_of(follow.begin(), follow.end(), [&](const Op *op) {
                            return isForSecond(*op, *second);
                          });
    if (isClosed)
      join(first, *second);
    return isClosed ? second : nullptr;
  }

  void join(Op &first, Op &second) {
    Block &from = first.body(), &into = second.body();
    Op *place = into.ops.empty() ? nullptr : into.ops.front().get();
    const auto moveIn = [&](Op *op) { place ? moveBefore(op, place) : moveToEnd(op, &into); };
    replaceTile(from, from.args[0].get(), into.args[0].get());
    for (size_t i = 1; i < from.args.size(); ++i)
      replaceAllUses(from.args[i].get(), first.operand(i + 1));
    Op *yield = from.terminator();
    for (size_t i = 0; i < first.results.size(); ++i)
      replaceAllUses(first.result(i), yield->operand(i));
    while (!from.ops.empty() && from.ops.front().get() != yield)
      moveIn(from.ops.front().get());
    for (Op *op : between)
      if (follow.count(op))
        moveIn(op);
    erase(&first);
    knowBounds(second);
  }

  /// Types name it, too: as what a tile ends with.
  static void replaceTile(Block &block, Value *from, Value *to) {
    replaceAllUses(from, to);
    const auto rename = [&](const std::unique_ptr<Value> &value) {
      for (Value **end : {&value->type.rowEnd, &value->type.colEnd})
        *end = *end == from ? to : *end;
    };
    walk(block, [&](Op &op) {
      std::for_each(op.results.begin(), op.results.end(), rename);
      for (const auto &body : op.bodies)
        std::for_each(body->args.begin(), body->args.end(), rename);
    });
  }

  /// The only tile begins and ends where the range does.
  void knowBounds(Op &loop) {
    const Value *tile = loop.body().args[0].get();
    walk(loop.body(), [&](Op &op) {
      if ((op.kind == OpKind::Begin || op.kind == OpKind::End) && op.operand(0) == tile)
        replaceAllUses(op.result(), loop.operand(op.kind == OpKind::Begin ? 0 : 1));
    });
  }
};

} // namespace

void joinLoops(Function &function) { Joiner(function).run(function.body); }

} // namespace tkc::ir
