// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles that threads work with on their way to a product. They are widened, as 8-bit weights are, or anything else:
//   acc += bf16(w[n, k]) @ x[m, k].T
//   y = bf16(q[t, :] * exp(cumsum(gate[t, :], 0))) @ s
// Loaded to registers, each would be waited for in every iteration. So such a tile comes through a ring as it lies in
// memory. Threads read their elements of a stage, hand it back at once, and work with what they have read: their
// results go to the registers that the product reads, or to a staging buffer.
#include "backends/plan/placement/PlaceConverted.h"

#include "backends/plan/analysis/LoadAnalysis.h"
#include "backends/plan/analysis/Nest.h"
#include "backends/plan/placement/TensorMaps.h"
#include "ir/Effects.h"
#include "ir/Products.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::planner {
namespace {

class ConvertedPlacer {
public:
  ConvertedPlacer(const ir::Function &function, const arch::Description &arch, const Schedule &schedule, Placement &out)
      : function(function), arch(arch), schedule(schedule), out(out) {}

  void placeSources(const ir::Op &dot, size_t position, const Operand &operand) {
    if (operand.kind == Operand::Ring || !operand.value)
      return;
    const auto isNarrower = [&](const ir::Value *value) {
      return bitWidth(value->type.elem) < bitWidth(operand.value->type.elem);
    };
    for (const ir::Op *load : loadsBehind(dot, operand, [](const ir::Op &op) { return ir::isElementwise(op.kind); }))
      if (isNarrower(load->result()))
        place(*load, dot, position, Copier::Any);
    if (schedule.loadAhead.value_or(false))
      for (const ir::Op *load : loadsBehind(dot, operand, [](const ir::Op &op) { return op.bodies.empty(); }))
        place(*load, dot, position, Copier::Engine);
  }

private:
  /// Who may fill the ring. Threads that copy a tile to shared memory take longer than those that load it to registers,
  /// unless it is narrow.
  enum class Copier : uint8_t { Engine, Any };

  /// The loads of tiles beside a product of which its operand is made, by work that `passes`.
  static std::vector<const ir::Op *> loadsBehind(const ir::Op &dot, const Operand &operand,
                                                 llvm::function_ref<bool(const ir::Op &)> passes) {
    std::vector<const ir::Op *> loads;
    ir::searchBack(operand.value, [&](const ir::Value *at, std::vector<const ir::Value *> &next) {
      const ir::Op *op = at->definingOp;
      if (!op || op->parent != dot.parent || ir::isProduct(*op))
        return false;
      if (op->kind == ir::OpKind::Load && at->type.isTile())
        loads.push_back(op);
      else if (op->kind != ir::OpKind::Load && passes(*op))
        next.assign(op->operands().begin(), op->operands().end());
      return false;
    });
    return loads;
  }

  void place(const ir::Op &load, const ir::Op &dot, size_t position, Copier copier) {
    if (out.loadKeys.count(&load) != 0 || !suits(load))
      return;
    const std::string key = loadKey(load) + "^converted";
    const plan::VarType &home = out.types.at(load.result());
    if (const RingMember *clone = out.findMember(key)) {
      if (out.types.at(clone->load->result()) == home)
        out.loadKeys[&load] = key;
      return;
    }
    plan::Buffer buffer;
    buffer.name = out.uniqueBuffer(load.view.tensor);
    buffer.elem = home.elem;
    buffer.rows = home.rows;
    buffer.cols = home.cols;
    buffer.swizzle = chooseSwizzle(plan::sharedBytes(home.elem, colsOfInstance(home)));
    buffer.loc = load.loc;
    const std::string whyNot = whyNotByEngine(function, arch, load, buffer, load.result()->type);
    if (!whyNot.empty() && copier == Copier::Engine)
      return;
    out.loadKeys[&load] = key;
    RingMember member;
    member.key = key;
    member.load = &load;
    member.isReadByThreads = true;
    member.buffer = buffer.name;
    member.byEngine = whyNot.empty();
    if (member.byEngine)
      out.maps.push_back(makeConvertedMap(dot, position, load, buffer));
    out.note(plan::Note::Copies, load.loc,
             fmt::format("`{}`: through a ring as it is, from which threads read and convert it{}", load.view.tensor,
                         member.byEngine ? std::string() : fmt::format("; copied by threads, as {}", whyNot)));
    out.buffers.push_back(std::move(buffer));
    ringFor(load, dot).members.push_back(std::move(member));
  }

  /// Whole rows of shared memory, of which every instance reads its part.
  bool suits(const ir::Op &load) const {
    const plan::VarType &home = out.types.at(load.result());
    const ir::Param *tensor = function.findParam(load.view.tensor);
    return depthOf(load) > 0 && isRingLoad(load.result(), out.contested) && home.kind == plan::VarType::Fragment &&
           tensor->elem == home.elem && home.elem != ElemType::Bool && !isPackedFloat(home.elem) &&
           chooseSwizzle(plan::sharedBytes(home.elem, colsOfInstance(home))) != plan::Swizzle::None;
  }

  int64_t colsOfInstance(const plan::VarType &home) const {
    return home.cols / (home.division == plan::Division::Cols ? out.instances : 1);
  }

  /// What one operand is made of is read at one time. Clones of a load are found by their key.
  RingPlacement &ringFor(const ir::Op &load, const ir::Op &dot) {
    const auto [found, isNew] = ringOf.try_emplace(&dot, out.rings.size());
    if (isNew) {
      out.rings.push_back({});
      out.rings.back().depth = depthOf(load);
    }
    RingPlacement &ring = out.rings[found->second];
    ring.name = ring.name.empty() ? load.view.tensor : ring.name + "_" + load.view.tensor;
    while (std::count_if(out.rings.begin(), out.rings.end(),
                         [&](const RingPlacement &other) { return other.name == ring.name; }) > 1)
      ring.name += "2";
    return ring;
  }

  const ir::Function &function;
  const arch::Description &arch;
  const Schedule &schedule;
  Placement &out;
  ir::OpMap<size_t> ringOf; ///< of the product for which tiles are converted
};

} // namespace

void placeConverted(const ir::Function &function, const Nest &nest, const arch::Description &arch,
                    const Schedule &schedule, Placement &placement) {
  ConvertedPlacer placer(function, arch, schedule, placement);
  walkTile(nest, [&](const ir::Op &op, int depth) {
    if (depth == 0 || !ir::isProduct(op))
      return;
    const ProductPlacement &product = placement.products.at(&op);
    placer.placeSources(op, 0, product.a);
    placer.placeSources(op, 1, product.b);
  });
}

} // namespace tkc::planner
