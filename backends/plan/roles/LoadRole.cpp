// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/LoadRole.h"

#include "backends/plan/analysis/LoadAnalysis.h"
#include "backends/plan/analysis/Nest.h"
#include "backends/plan/placement/ProductShapes.h"
#include "backends/plan/roles/BackwardSlices.h"
#include "ir/Views.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace tkc::planner {
namespace {

class Lowering : public RoleBuilder {
public:
  Lowering(const Nest &nest, const Placement &placement, const SharedNames &shared, plan::NamedBarrier meeting)
      : RoleBuilder(placement, shared), nest(nest), meeting(meeting), needed(producerOps(nest, placement)) {
    for (const auto &[load, key] : placement.loadKeys)
      if (load->view.hasGather())
        addRowIndices(*load);
  }

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
      if (rowIndices.count(op))
        emitRowIndex(*op);
      if (const RingPlacement *ring = ringOf(op)) {
        if (op == loadsOf[ring].back())
          fill(*ring, loadsOf[ring]);
      } else if (op->kind == ir::OpKind::For) {
        emitWalk(*op, [&] { lowerBlock(opsOf(op->body())); });
      } else if (op->kind != ir::OpKind::Yield && !rowIndices.count(op)) {
        emitCompute(*op);
      }
    }
  }

  // ---- rows by index: columns that say which, in a layout of this role
  void addRowIndices(const ir::Op &user) {
    for (const ir::Value *operand : user.operands())
      if (const ir::Op *op = operand->definingOp;
          op && isColumnOf(operand->type, operand->type.rows) && rowIndices.insert(op).second)
        addRowIndices(*op);
  }

  /// Eight threads have the same rows, of which they copy neighbouring chunks.
  int rowsAtOnce() const { return meeting.threads / threadsPerRow; }

  void emitRowIndex(const ir::Op &op) {
    if (op.kind == ir::OpKind::AsCol)
      return alias(op.result(), use(op.operand(0)));
    const ir::Type &type = op.result()->type;
    const plan::Layout layout{plan::Layout::Rows, meeting.threads, threadsPerRow, 1};
    const std::string &name = op.result()->name;
    alias(op.result(), declare(name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "rows" : name,
                               {plan::VarType::Column, type.elem, roundUp(type.rows, rowsAtOnce()), 1, layout, {}}));
    emitCompute(op).view = viewOf(op);
  }

  /// With the rows that exist where a column of indices has more.
  ir::View viewOf(const ir::Op &load) const {
    ir::View view = load.view;
    for (ir::ViewIndex &index : view.indices)
      if (index.kind == ir::ViewIndex::Gather) {
        const int64_t rows = load.operand(index.operand)->type.rows;
        index.hi = rows % rowsAtOnce() == 0 ? 0 : rows;
      }
    return view;
  }

  /// One stage of a ring: wait until it was drained, announce the bytes, start the copies.
  void fill(const RingPlacement &ring, const std::vector<const ir::Op *> &loads) {
    const SourceLoc loc = loads.front()->loc;
    std::vector<const ir::Op *> asked, others;
    for (const ir::Op *load : loads)
      (asks(*load) ? asked : others).push_back(load);
    plan::Stmt branch;
    branch.kind = Kind::If;
    branch.loc = loc;
    if (const std::string starts = startOf(asked); !starts.empty())
      branch.operands = {starts};
    for (const ir::Op *load : asked)
      if (memberOf(*load).isVector && !placement.aligned)
        branch.map = memberOf(*load).buffer + "_map";
    plan::Stmt &wait = emit(plan::Wait{{ring.empty(), ring.cursor()}, true}, loc);
    // Threads that do not copy would not hold the ring up, and could miss a phase of it.
    wait.one = (placement.copiesByThreads() && !placement.isFilledByThreads(ring)) || placement.asksStartOfLoads();
    if (asked.empty()) {
      bring(ring, loads, loc);
    } else {
      into(branch.body, [&] { bring(ring, loads, loc); });
      into(branch.orElse, [&] {
        copyByThreads(ring, asked, loc);
        bring(ring, others, loc);
      });
      emit(Kind::If, loc) = std::move(branch);
    }
    emit(plan::Advance{ring.cursor()}, loc);
  }

  /// Whether it is found out at each stage if the engine does a load: by where its tile begins, or, of vectors, as the
  /// role is for all its threads anyway, by what the launcher found.
  bool asks(const ir::Op &load) const {
    return placement.asksStart.count(&load) != 0 ||
           (memberOf(load).isVector && placement.asksStartOfLoads() && !placement.aligned);
  }

  /// Whether the tiles of all loads that ask it begin where the engine takes them; empty: none asks.
  std::string startOf(const std::vector<const ir::Op *> &loads) {
    std::string all;
    std::set<std::pair<std::string, int64_t>> asked;
    for (const ir::Op *load : loads) {
      if (!placement.asksStart.count(load))
        continue;
      const ir::ViewIndex &index = load->view.indices[rangedDims(load->view).second];
      const std::string &tile = use(load->operand(index.operand));
      const int64_t step = plan::boxStep(placement.findBuffer(memberOf(*load).buffer)->elem, placement.boxAlignment);
      if (!asked.emplace(tile, step).second)
        continue;
      const std::string one = emitStarts(tile, step, load->loc);
      all = all.empty() ? one : emitScalar(ir::OpKind::And, "starts", ElemType::Bool, {all, one}, load->loc);
    }
    return all;
  }

  /// By all threads of the role, which know from one of them that the stage is empty, and it from them that it is full.
  void copyByThreads(const RingPlacement &ring, const std::vector<const ir::Op *> &loads, SourceLoc loc) {
    emit(plan::Sync{meeting.id, meeting.threads}, loc);
    for (const ir::Op *load : loads) {
      plan::Stmt &copy = copyIn(ring, *load);
      copy.map.clear();
      copy.completes = {};
      copy.one = false;
    }
    emit(plan::CopyCommit(), loc);
    emit(plan::CopyWait{.byLoads = false, .left = 0}, loc);
    emit(plan::FenceProxy(), loc);
    emit(plan::Sync{meeting.id, meeting.threads}, loc);
  }

  void bring(const RingPlacement &ring, const std::vector<const ir::Op *> &loads, SourceLoc loc) {
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

  plan::Stmt &copyIn(const RingPlacement &ring, const ir::Op &load) {
    const RingMember &member = memberOf(load);
    std::vector<std::string> operands;
    for (const ir::Value *operand : load.operands())
      operands.push_back(use(operand));
    plan::Stmt &copy = emit(Kind::CopyIn, load.loc);
    copy.view = viewOf(load);
    copy.operands = std::move(operands);
    copy.hasElse = load.hasElse;
    copy.map = member.byEngine ? member.buffer + "_map" : "";
    copy.ref = {member.buffer, ring.cursor(), member.transposing, plan::Division::Whole};
    copy.completes = {ring.full(), ring.cursor()};
    copy.one = member.byEngine;
    copy.multicast = member.multicast;
    copy.along = member.along;
    copy.toFirst = placement.byPairs;
    return copy;
  }

  const Nest &nest;
  static constexpr int threadsPerRow = 8;
  const plan::NamedBarrier meeting;
  ir::OpSet needed, rowIndices;
};

} // namespace

plan::Role lowerLoadRole(const Nest &nest, const Placement &placement, const SharedNames &shared,
                         plan::NamedBarrier meeting) {
  return Lowering(nest, placement, shared, meeting).run();
}

} // namespace tkc::planner
