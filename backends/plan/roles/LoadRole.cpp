// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/LoadRole.h"

#include "backends/plan/analysis/Nest.h"
#include "backends/plan/roles/BackwardSlices.h"

#include <algorithm>

namespace tkc::planner {
namespace {

class Lowering : public RoleBuilder {
public:
  Lowering(const Nest &nest, const Placement &placement, const SharedNames &shared)
      : RoleBuilder(placement, shared), nest(nest), needed(producerOps(nest, placement)) {}

  plan::Role run() {
    role.name = "producer";
    for (const RingPlacement &ring : placement.rings)
      role.vars.push_back({ring.cursor(), cursorType(ring.stages)});
    lowerBlock(nest.tileOps);
    return std::move(role);
  }

private:
  using Kind = plan::StmtKind;

  const RingPlacement *ringOf(const ir::Op *op) const {
    auto key = placement.loadKeys.find(op);
    return key == placement.loadKeys.end() ? nullptr : placement.findRing(key->second);
  }

  void lowerBlock(const std::vector<const ir::Op *> &ops) {
    std::map<const RingPlacement *, std::vector<const ir::Op *>> loadsOf;
    for (const ir::Op *op : ops)
      if (const RingPlacement *ring = ringOf(op))
        loadsOf[ring].push_back(op);
    for (const ir::Op *op : ops) {
      if (!needed.count(op))
        continue;
      if (const RingPlacement *ring = ringOf(op)) {
        if (op == loadsOf[ring].back())
          fill(*ring, loadsOf[ring]);
      } else if (op->kind == ir::OpKind::For) {
        emitWalk(*op, [&] { lowerBlock(opsOf(op->body())); });
      } else if (op->kind != ir::OpKind::Yield) {
        emitCompute(*op);
      }
    }
  }

  /// One stage of a ring: wait until it was drained, announce the bytes, start the copies.
  void fill(const RingPlacement &ring, const std::vector<const ir::Op *> &loads) {
    const SourceLoc loc = loads.front()->loc;
    plan::Stmt &wait = emit(plan::Wait{{ring.empty(), ring.cursor()}, true}, loc);
    // Threads that do not copy would not hold the ring up, and could miss a phase of it.
    wait.one = placement.copiesByThreads() && !placement.isFilledByThreads(ring);
    // Of a pair the first block's thread announces all bytes, but where each block's threads arrive anyway.
    const bool byOne = !placement.isFilledByThreads(ring), inFirst = placement.byPairs && byOne;
    plan::Stmt &expect = emit(plan::Expect{.at = {ring.full(), ring.cursor()},
                                           .bytes = engineBytes(loads) * (inFirst ? 2 : 1),
                                           .toFirst = placement.byPairs && !byOne},
                              loc);
    expect.one = byOne;
    expect.inFirst = inFirst;
    for (const ir::Op *load : loads)
      copyIn(ring, *load);
    emit(plan::Advance{ring.cursor()}, loc);
  }

  const RingMember &memberOf(const ir::Op &load) const { return *placement.findMember(placement.loadKeys.at(&load)); }

  int64_t engineBytes(const std::vector<const ir::Op *> &loads) const {
    int64_t bytes = 0;
    for (const ir::Op *load : loads) {
      const RingMember &member = memberOf(*load);
      for (const plan::Buffer &buffer : placement.buffers)
        if (buffer.name == member.buffer && member.byEngine)
          bytes += buffer.copiedBytes();
    }
    return bytes;
  }

  void copyIn(const RingPlacement &ring, const ir::Op &load) {
    const RingMember &member = memberOf(load);
    std::vector<std::string> operands;
    for (const ir::Value *operand : load.operands())
      operands.push_back(use(operand));
    plan::Stmt &copy = emit(Kind::CopyIn, load.loc);
    copy.view = load.view;
    copy.operands = std::move(operands);
    copy.hasElse = load.hasElse;
    copy.map = member.byEngine ? member.buffer + "_map" : "";
    copy.ref = {member.buffer, ring.cursor(), member.transposing, plan::Division::Whole};
    copy.completes = {ring.full(), ring.cursor()};
    copy.one = member.byEngine;
    copy.multicast = member.multicast;
    copy.toFirst = placement.byPairs;
  }

  const Nest &nest;
  ir::OpSet needed;
};

} // namespace

plan::Role lowerLoadRole(const Nest &nest, const Placement &placement, const SharedNames &shared) {
  return Lowering(nest, placement, shared).run();
}

} // namespace tkc::planner
