// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk over a block's accesses in their order, with those that no barrier has ended yet. An access that may meet
// one of these by another thread gets a barrier before it, and so does a loop in which there is one. What an iteration
// leaves open meets the next one: bodies are walked again until that brings no further barrier.
#include "backends/plan/roles/MemoryBarriers.h"

#include "backends/plan/analysis/MemoryDependence.h"
#include "backends/plan/analysis/Nest.h"
#include "backends/plan/analysis/SliceOverlap.h"
#include "backends/plan/placement/Placement.h"

#include <algorithm>
#include <set>

namespace tkc::planner {
namespace {

/// What is to be said of an access that was made, while no barrier has come since.
struct Open {
  const ir::Op *op;
  const ir::Op *loop; ///< the outermost of which it was made in an earlier iteration; null: in this one
  friend bool operator==(const Open &, const Open &) = default;
  friend bool operator<(const Open &one, const Open &other) {
    const ir::InOrder before;
    return before(one.op, other.op) || (one.op == other.op && before(one.loop, other.loop));
  }
};
using OpenSet = std::set<Open>;

class Walker {
public:
  Walker(const ir::Function &function, const Placement &placement) : placement(placement), slices(function) {}

  OpenSet walk(const std::vector<const ir::Op *> &ops, OpenSet open) {
    for (const ir::Op *op : ops) {
      if (isAccess(*op) && placement.contested.count(op)) {
        separate(*op, {op}, open);
        open.insert({op, nullptr});
      } else if (op->kind == ir::OpKind::For) {
        open = walkLoop(*op, std::move(open));
      } else if (op->kind == ir::OpKind::If) {
        OpenSet after;
        for (const auto &body : op->bodies)
          after.merge(walk(opsOf(*body), open));
        if (op->bodies.size() < 2)
          after.merge(std::move(open));
        open = std::move(after);
      }
    }
    return open;
  }

  MemoryOrder order;

private:
  /// A barrier before `where`, if one of `next` may meet what is open.
  void separate(const ir::Op &where, const std::vector<const ir::Op *> &next, OpenSet &open) {
    if (std::any_of(open.begin(), open.end(), [&](const Open &before) {
          return std::any_of(next.begin(), next.end(), [&](const ir::Op *op) { return meet(before, *op); });
        }))
      order.barrierBefore.insert(&where);
    if (order.barrierBefore.count(&where))
      open.clear();
  }

  OpenSet walkLoop(const ir::Op &loop, OpenSet open) {
    std::vector<const ir::Op *> inside;
    int depth = 0;
    auto collect = [&](const ir::Op &op, int) {
      if (placement.contested.count(&op))
        inside.push_back(&op);
    };
    walkOps(loop.body(), depth, collect);
    if (inside.empty())
      return open;
    separate(loop, inside, open);
    OpenSet carried, before;
    do {
      before = carried;
      OpenSet start = open;
      start.insert(carried.begin(), carried.end());
      for (const Open &each : walk(opsOf(loop.body()), start))
        if (repeats(loop) && std::find(inside.begin(), inside.end(), each.op) != inside.end())
          carried.insert({each.op, &loop});
    } while (carried != before);
    OpenSet after = open; // there may be no iteration
    for (const Open &each : walk(opsOf(loop.body()), [&] {
           OpenSet start = open;
           start.insert(carried.begin(), carried.end());
           return start;
         }()))
      after.insert(each.loop == &loop ? Open{each.op, nullptr} : each);
    return after;
  }

  bool meet(const Open &before, const ir::Op &op) {
    return isOrderSeen(*before.op, op) && !slices.areApart(*before.op, op, before.loop) &&
           !areBySameThreads(*before.op, op, before.loop);
  }

  /// Each element that both touch is the same thread's in both.
  bool areBySameThreads(const ir::Op &one, const ir::Op &other, const ir::Op *loop) {
    const auto isPlaced = [&](const ir::Op &op) { return placement.stores.count(&op) != 0; };
    const plan::VarType type = typeOf(one), otherType = typeOf(other);
    const bool likeTypes = type.kind == otherType.kind && type.layout == otherType.layout &&
                           type.division == otherType.division && type.rows == otherType.rows &&
                           type.cols == otherType.cols;
    return likeTypes && !isPlaced(one) && !isPlaced(other) && isByOne(one, type) && isByOne(other, type) &&
           slices.areAligned(one, other, loop);
  }

  /// Whether one thread alone accesses an element.
  bool isByOne(const ir::Op &op, const plan::VarType &type) {
    if (op.kind != ir::OpKind::Load || !isHeldByMany(type))
      return true;
    if (op.view.hasGather() || !onlyStoringThreadsUse(op.result(), type))
      return false;
    order.ownLoads.insert(&op);
    return true;
  }

  bool isHeldByMany(const plan::VarType &type) const {
    return type.kind != plan::VarType::Fragment ||
           (placement.instances > 1 && plan::heldPart(type) == plan::Division::Whole);
  }

  /// Whether the value goes, through work on elements where they lie, to stores alone: of what many hold one stores.
  bool onlyStoringThreadsUse(const ir::Value *value, const plan::VarType &type) const {
    return std::all_of(value->users.begin(), value->users.end(), [&](const ir::Op *user) {
      switch (user->kind) {
      case ir::OpKind::Store:
      case ir::OpKind::Atomic:
        return std::count(user->operands().begin(), user->operands().end(), value) == 1 &&
               user->operands().back() == value && !placement.stores.count(user);
#define TKC_UNARY(kind, name, domain, summary) case ir::OpKind::kind:
#define TKC_BINARY(kind, name, domain, summary) case ir::OpKind::kind:
#include "ir/Ops.def"
      case ir::OpKind::Cast:
      case ir::OpKind::Select:
      case ir::OpKind::AsCol:
      case ir::OpKind::AsRow:
      case ir::OpKind::ToScalar: {
        plan::VarType made = typeOf(*user->result());
        made.elem = type.elem;
        return made == type && onlyStoringThreadsUse(user->result(), type);
      }
      default:
        return false;
      }
    });
  }

  plan::VarType typeOf(const ir::Op &access) const {
    return typeOf(access.kind == ir::OpKind::Load ? *access.result() : *access.operands().back());
  }
  plan::VarType typeOf(const ir::Value &value) const {
    const auto found = placement.types.find(&value);
    return found == placement.types.end() ? plan::VarType{} : found->second;
  }

  const Placement &placement;
  SliceOverlap slices;
};

} // namespace

MemoryOrder orderMemory(const ir::Function &function, const Nest &nest, const Placement &placement) {
  if (placement.contested.empty())
    return {};
  Walker walker(function, placement);
  walker.walk(nest.tileOps, {});
  return std::move(walker.order);
}

} // namespace tkc::planner
