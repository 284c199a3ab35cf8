// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors that a loop loads, one value a row or a column of its tiles. Loaded to registers they would have to be there,
// or their latency be paid, before the vector work that needs them. So the producer brings them to shared memory with
// the tiles, and each thread reads its elements where they are used.
#include "backends/plan/placement/PlaceVectors.h"

#include "backends/plan/analysis/CopyEngineAccess.h"
#include "backends/plan/analysis/LoadAnalysis.h"
#include "backends/plan/analysis/Nest.h"
#include "backends/plan/placement/TensorMaps.h"
#include "ir/Products.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

/// Where the copy engine puts what is not swizzled: PTX ISA, "cp.async.bulk.tensor".
constexpr int64_t engineAlignment = 128;

class VectorPlacer {
public:
  VectorPlacer(const ir::Function &function, const arch::Description &arch, Placement &out)
      : function(function), arch(arch), out(out),
        gathers(std::any_of(out.loadKeys.begin(), out.loadKeys.end(),
                            [](const auto &each) { return each.first->view.hasGather(); })) {}

  void place(const ir::Op &load) {
    if (!suits(load))
      return;
    const std::string key = loadKey(load);
    out.loadKeys[&load] = key;
    if (out.findMember(key))
      return;
    RingMember member;
    member.key = key;
    member.load = &load;
    member.isVector = true;
    member.buffer = out.uniqueBuffer(load.view.tensor);
    plan::Buffer buffer;
    buffer.name = member.buffer;
    buffer.elem = load.result()->type.elem;
    buffer.rows = 1;
    buffer.cols = load.result()->type.rows;
    buffer.swizzle = plan::Swizzle::None;
    buffer.loc = load.loc;
    out.buffers.push_back(buffer);
    member.byEngine = !gathers; // else there are threads that copy anyway, and do not wait for it
    if (member.byEngine)
      out.maps.push_back(makeMap(load, buffer, 1));
    ringFor(load).members.push_back(member);
    out.notes.push_back(
        {plan::Note::Copies,
         fmt::format("`{}`: a vector that is loaded ahead by {}, with the tile that it is worked with",
                     load.view.tensor, member.byEngine ? "the copy engine" : "the loading role's threads"),
         load.loc});
  }

private:
  bool suits(const ir::Op &load) const {
    const ir::Type &type = load.result()->type;
    if (type.kind != ir::Type::Vector || !isProducerComputed(load, out.contested) || !suitsCopyEngine(function, load) ||
        out.rowsPickedBy(*load.result()))
      return false;
    const ir::Param *tensor = function.findParam(load.view.tensor);
    const plan::VarType &home = out.types.at(load.result());
    const bool exact = home.kind == plan::VarType::Row      ? home.cols == type.rows
                       : home.kind == plan::VarType::Column ? home.rows == type.rows
                                                            : false;
    return exact && tensor->mode == ir::ParamMode::In && tensor->elem == type.elem && !isPacked(type.elem) &&
           type.rows <= arch.maxBoxDim && bytesOf(type.elem, type.rows) % engineAlignment == 0;
  }

  /// The ring of the tile whose product the vector is worked with: they are needed and done with together.
  RingPlacement &ringFor(const ir::Op &load) {
    for (const ir::Op *product : productsBeside(load.result())) {
      const auto placed = out.products.find(product);
      if (placed == out.products.end())
        continue;
      for (const Operand *operand : {&placed->second.a, &placed->second.b})
        if (operand->kind == Operand::Ring && operand->value->definingOp->parent == load.parent)
          for (RingPlacement &ring : out.rings)
            if (&ring == out.findRing(out.loadKeys.at(operand->value->definingOp)))
              return ring;
    }
    RingPlacement ring;
    ring.depth = depthOf(load);
    ring.name = load.view.tensor;
    while (std::any_of(out.rings.begin(), out.rings.end(), [&](const auto &other) { return other.name == ring.name; }))
      ring.name += "2";
    out.rings.push_back(ring);
    return out.rings.back();
  }

  /// Products on which other operands of the vector's users depend, nearest first.
  std::vector<const ir::Op *> productsBeside(const ir::Value *vector) const {
    std::vector<const ir::Op *> products;
    for (const ir::Op *user : vector->users) {
      if (user->kind == ir::OpKind::AsRow || user->kind == ir::OpKind::AsCol) {
        for (const ir::Op *product : productsBeside(user->result()))
          products.push_back(product);
        continue;
      }
      ir::OpSet seen;
      for (const ir::Value *operand : user->operands())
        if (operand != vector)
          addProducts(operand, user->parent, products, seen);
    }
    return products;
  }

  static void addProducts(const ir::Value *value, const ir::Block *body, std::vector<const ir::Op *> &products,
                          ir::OpSet &seen) {
    const ir::Op *op = value->definingOp;
    if (!op || op->parent != body || !seen.insert(op).second)
      return;
    if (ir::isProduct(*op)) {
      products.push_back(op);
      return;
    }
    for (const ir::Value *operand : op->operands())
      addProducts(operand, body, products, seen);
  }

  const ir::Function &function;
  const arch::Description &arch;
  Placement &out;
  const bool gathers; ///< rows by index come through a ring
};

} // namespace

void placeVectors(const ir::Function &function, const Nest &nest, const arch::Description &arch, Placement &placement) {
  if (!placement.hasProducts || !arch.hasBulkTensorCopy)
    return;
  VectorPlacer placer(function, arch, placement);
  walkTile(nest, [&](const ir::Op &op, int depth) {
    if (op.kind == ir::OpKind::Load && depth > 0)
      placer.place(op);
  });
}

} // namespace tkc::planner
