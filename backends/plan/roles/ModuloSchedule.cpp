// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/ModuloSchedule.h"

#include "backends/plan/analysis/LoadAnalysis.h"
#include "backends/plan/analysis/Nest.h"
#include "backends/plan/placement/TileRegisters.h"
#include "backends/plan/roles/CarriedVariables.h"
#include "ir/Products.h"

#include <algorithm>
#include <map>
#include <set>

namespace tkc::planner {
namespace {

class Orderer {
public:
  Orderer(const std::vector<const ir::Op *> &ops, const ir::Op *loop, const Placement &placement,
          std::vector<plan::Note> &notes)
      : ops(ops), loop(loop), placement(placement), notes(notes), inBody(ops.begin(), ops.end()) {
    findOfProducts();
    oneByOne = placement.instances > 1 && registersOfResults() > placement.maxRegistersPerThread;
  }

  std::vector<ScheduledOp> run(int overlap) {
    if (overlap > 0 && loop)
      findLate();
    else if (loop)
      noteNoOverlap();
    // Scalars and views that the first products need, then the products of the iteration before, then the rest.
    takeReadyProducts();
    for (const ir::Op *op : ops)
      if (!done.count(op) && feedsEarlyProduct(op) && isReady(*op, done)) {
        take(op);
        takeReadyProducts();
      }
    for (const ir::Op *op : late)
      take(op);
    for (const ir::Op *op : ops) {
      if (done.count(op) || op->kind == ir::OpKind::Yield)
        continue;
      take(op);
      takeReadyProducts();
    }
    return std::move(order);
  }

private:
  void take(const ir::Op *op) {
    done.insert(op);
    order.push_back({op, isLate(op) ? 1 : 0});
  }

  /// What this iteration still works with comes before what only accumulates: groups complete in order. Products of
  /// warps are over when their statement is: early ones would hold registers for nothing, and, where operands are
  /// copied late, shared memory. Products whose results do not all fit in registers at once are issued where they
  /// stand, each after the work on the result before it: other warpgroups' products run meanwhile.
  void takeReadyProducts() {
    if (placement.multipliesByWarps() || placement.copiesLate || oneByOne)
      return;
    for (bool onlyAccumulates : {false, true})
      for (const ir::Op *op : ops)
        if (ir::isProduct(*op) && !isLate(op) && !done.count(op) && isReady(*op, done) &&
            isOnlyCarried(*op) == onlyAccumulates) {
          takeBeforeStaging(*op);
          take(op);
        }
  }

  /// A thread's registers for what the loops around carry, once each, and for all results that the iteration itself
  /// works with.
  int64_t registersOfResults() const {
    if (placement.usesTensorMemory())
      return 0;
    int64_t registers = 0;
    for (const ir::Op *op : ops)
      if (ir::isProduct(*op) && !isOnlyCarried(*op))
        registers += registersOf(op->result());
    if (registers == 0)
      return 0;
    const ir::Op *inner = nullptr;
    for (const ir::Op *around = loop; around; inner = around, around = repeatingOp(around->parent))
      if (around->kind == ir::OpKind::For)
        for (const auto &carried : around->body().args)
          if (!goesOnIn(inner, *carried))
            registers += registersOf(carried.get());
    return registers;
  }

  /// Whether nothing but one loop needs the value, which goes on with it, and which is `inner` or before that: then no
  /// variable but that loop's holds it.
  static bool goesOnIn(const ir::Op *inner, const ir::Value &value) {
    if (!inner || value.users.size() != 1 || value.users.front()->kind != ir::OpKind::For)
      return false;
    for (const auto &op : inner->parent->ops)
      if (op.get() == value.users.front() || op.get() == inner)
        return op.get() == value.users.front();
    return false;
  }

  int64_t registersOf(const ir::Value *value) const {
    const auto type = placement.types.find(value);
    return type == placement.types.end() ? 0 : planner::registersOf(type->second, placement.instances);
  }

  /// An operand that is staged costs a barrier of all warpgroups. Products that do not read it and only accumulate are
  /// issued first, so that the matrix engine has work meanwhile.
  void takeBeforeStaging(const ir::Op &dot) {
    const ProductPlacement &product = placement.products.at(&dot);
    for (const Operand *operand : {&product.a, &product.b}) {
      const ir::Op *staged = operand->value ? operand->value->definingOp : nullptr;
      if (operand->kind != Operand::Staged || !staged || !inBody.count(staged))
        continue;
      for (const ir::Op *other : ops)
        if (ir::isProduct(*other) && other != &dot && !isLate(other) && !done.count(other) && isOnlyCarried(*other) &&
            !stages(*other) && !before(other).count(staged) && needsOnlyVectorWork(*other))
          takeWithOperands(other);
    }
  }

  bool stages(const ir::Op &dot) const {
    const ProductPlacement &product = placement.products.at(&dot);
    return product.a.kind == Operand::Staged || product.b.kind == Operand::Staged;
  }

  /// Whether all that `op` still waits for, in this body, is pure work on values.
  bool needsOnlyVectorWork(const ir::Op &op) const {
    const ir::OpSet &all = before(&op);
    return std::all_of(all.begin(), all.end(), [&](const ir::Op *def) {
      return done.count(def) || placement.loadKeys.count(def) ||
             (!ir::isProduct(*def) && def->bodies.empty() && !ir::hasEffect(def->kind));
    });
  }

  void takeWithOperands(const ir::Op *op) {
    for (const ir::Value *operand : op->operands())
      if (operand->definingOp && inBody.count(operand->definingOp) && !done.count(operand->definingOp))
        takeWithOperands(operand->definingOp);
    take(op);
  }

  bool isLate(const ir::Op *op) const { return std::find(late.begin(), late.end(), op) != late.end(); }

  bool isReady(const ir::Op &op, const ir::OpSet &done) const {
    return std::all_of(op.operands().begin(), op.operands().end(), [&](const ir::Value *operand) {
      // A product reads what was transposed where it lies, unless it takes it from registers: a left operand, or an
      // addend.
      if (ir::isProduct(op) && !isFedFrom(op, operand) && operand != ir::addendOf(op))
        operand = throughTransposes(operand).first;
      return !operand->definingOp || !inBody.count(operand->definingOp) || done.count(operand->definingOp) ||
             (!isLate(operand->definingOp) && isSharedOperand(op, operand) &&
              !waitsForLoop(*throughTransposes(operand).first->definingOp, done));
    });
  }

  /// Whether a loop that is still to come loads before `load` does: who loads keeps that order, and fills no ring ahead
  /// of one that a loop has to empty.
  bool waitsForLoop(const ir::Op &load, const ir::OpSet &done) const {
    for (const ir::Op *op : ops) {
      if (op == &load)
        return false;
      if (!done.count(op) && loadsInside(*op))
        return true;
    }
    return false;
  }

  bool loadsInside(const ir::Op &op) const {
    bool found = false;
    const auto visit = [&](const ir::Op &inner, int) { found |= placement.loadKeys.count(&inner) != 0; };
    for (const auto &body : op.bodies)
      walkOps(*body, 0, visit);
    return found;
  }

  /// Whether the value itself, not what it is the transpose of, is the product's left operand.
  bool isFedFrom(const ir::Op &dot, const ir::Value *value) const {
    return placement.products.at(&dot).a.value == value;
  }

  bool isOnlyCarried(const ir::Op &op) const {
    const std::vector<ir::Op *> &users = op.result()->users;
    return std::all_of(users.begin(), users.end(), [](const ir::Op *user) { return user->kind == ir::OpKind::Yield; });
  }

  /// Operands that arrive in shared memory by themselves are waited for, not computed. What a role that copies for
  /// itself loads once a tile it loads where that stands.
  bool isSharedOperand(const ir::Op &op, const ir::Value *operand) const {
    if (!ir::isProduct(op))
      return false;
    const ProductPlacement &product = placement.products.at(&op);
    const ir::Value *below = throughTransposes(operand).first;
    const auto key = below->definingOp ? placement.loadKeys.find(below->definingOp) : placement.loadKeys.end();
    if (placement.copiesItself && key != placement.loadKeys.end() && placement.findRing(key->second)->depth == 0)
      return false;
    const auto operands = product.operands();
    return std::any_of(operands.begin(), operands.end(), [&](const Operand *operand) {
      return operand->kind == Operand::Ring && operand->value == below;
    });
  }

  /// Whether `op` depends, in this body, on a product.
  bool dependsOnProduct(const ir::Op *op) const { return ofProducts.count(op) != 0; }

  /// In one walk: an op comes after what it reads, by a number of paths that nobody should count.
  void findOfProducts() {
    for (const ir::Op *op : ops)
      if (std::any_of(op->operands().begin(), op->operands().end(), [&](const ir::Value *operand) {
            const ir::Op *def = operand->definingOp;
            return def && inBody.count(def) && (ir::isProduct(*def) || ofProducts.count(def));
          }))
        ofProducts.insert(op);
  }

  /// Pure work, independent of products and carried values, that a product of this iteration waits for.
  bool feedsEarlyProduct(const ir::Op *op) const {
    if (ir::hasEffect(op->kind) || !op->bodies.empty() || ir::isProduct(*op) || dependsOnProduct(op) || late.empty())
      return false;
    return std::any_of(ops.begin(), ops.end(), [&](const ir::Op *dot) {
      return ir::isProduct(*dot) && !isLate(dot) && !dependsOnProduct(dot) && before(dot).count(op);
    });
  }

  /// All that `op` depends on in this body.
  const ir::OpSet &before(const ir::Op *op) const {
    auto [found, isNew] = dependences.try_emplace(op);
    std::vector<const ir::Op *> open;
    if (isNew)
      open.push_back(op);
    while (!open.empty()) {
      const ir::Op *next = open.back();
      open.pop_back();
      for (const ir::Value *operand : next->operands())
        if (const ir::Op *def = operand->definingOp; def && inBody.count(def) && found->second.insert(def).second)
          open.push_back(def);
    }
    return found->second;
  }

  void noteNoOverlap() {
    for (const ir::Op *op : ops)
      if (ir::isProduct(*op))
        notes.push_back({plan::Note::Overlap, "issued in its own iteration: `overlap` is 0", op->loc});
  }

  void findLate() {
    for (const ir::Op *op : ops) {
      if (!ir::isProduct(*op))
        continue;
      const std::string_view why = whyNotLate(*op);
      if (why.empty())
        late.push_back(op);
      notes.push_back({plan::Note::Overlap,
                       why.empty()
                           ? "issued one iteration late, so that it runs under the vector work that makes the next "
                             "iteration's left operand out of another product"
                           : "issued in its own iteration: " + std::string(why),
                       op->loc});
    }
  }

  /// Empty where the product can be an iteration late.
  std::string_view whyNotLate(const ir::Op &dot) const {
    const ProductPlacement &product = placement.products.at(&dot);
    if (product.byThreads || product.byWarps)
      return "the threads have its result when it is over, and nothing runs beside it";
    if (product.a.kind != Operand::Register || !product.a.value->definingOp ||
        !dependsOnProduct(product.a.value->definingOp))
      return "its left operand is not made from another product by this iteration's vector work, in registers";
    if (product.b.kind != Operand::Ring)
      return "its right operand does not come from a ring, which would keep it for an iteration";
    if (!ir::addendOf(dot))
      return "it does not accumulate";
    // Only the loop itself takes the result, and the accumulator is this iteration's update of the same carried value.
    const ir::Value *result = dot.result();
    if (result->users.size() != 1 || result->users[0]->kind != ir::OpKind::Yield ||
        result->users[0]->parent != &loop->body())
      return "the iteration itself uses its result";
    return ringUsedOnlyBy(dot, product.b) ? "" : "its ring serves another product of the same iteration too";
  }

  /// One stage of a ring serves one iteration: a ring whose slots early products read too cannot be late.
  bool ringUsedOnlyBy(const ir::Op &dot, const Operand &operand) const {
    const RingPlacement *ring = placement.findRing(placement.loadKeys.at(operand.value->definingOp));
    for (const ir::Op *other : ops) {
      if (other == &dot || !ir::isProduct(*other))
        continue;
      const ProductPlacement &product = placement.products.at(other);
      for (const Operand *use : {&product.a, &product.b})
        if (use->kind == Operand::Ring && placement.findRing(placement.loadKeys.at(use->value->definingOp)) == ring)
          return false;
    }
    return true;
  }

  const std::vector<const ir::Op *> &ops;
  const ir::Op *loop;
  const Placement &placement;
  std::vector<plan::Note> &notes;
  ir::OpSet inBody;

  bool oneByOne = false; ///< products, rather than each as soon as it can be
  ir::OpSet ofProducts;
  mutable ir::OpMap<ir::OpSet> dependences; ///< of products, as they are asked for
  std::vector<const ir::Op *> late;         ///< products of stage 1, in order of the source
  std::vector<ScheduledOp> order;
  ir::OpSet done;
};

} // namespace

std::vector<ScheduledOp> orderBody(const std::vector<const ir::Op *> &ops, const ir::Op *loop,
                                   const Placement &placement, int overlap, std::vector<plan::Note> &notes) {
  return Orderer(ops, loop, placement, notes).run(overlap);
}

} // namespace tkc::planner
