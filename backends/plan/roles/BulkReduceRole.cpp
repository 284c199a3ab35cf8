// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/BulkReduceRole.h"

#include "backends/plan/analysis/Nest.h"
#include "backends/plan/roles/BackwardSlices.h"

#include <algorithm>

namespace tkc::planner {
namespace {

class Lowering : public RoleBuilder {
public:
  Lowering(const Nest &nest, const Placement &placement, const SharedNames &shared)
      : RoleBuilder(placement, shared), nest(nest), needed(adderOps(placement)) {}

  plan::Role run() {
    role.name = "adder";
    role.warps = 1;
    role.instances = placement.instances;
    lowerBlock(nest.tileOps);
    bulkWait(role.finish);
    return std::move(role);
  }

private:
  using Kind = plan::StmtKind;

  void lowerBlock(const std::vector<const ir::Op *> &ops) {
    for (const ir::Op *op : ops) {
      if (!needed.count(op) || op->kind == ir::OpKind::Yield)
        continue;
      if (op->kind == ir::OpKind::Atomic)
        add(*op, placement.stores.at(op));
      else if (op->kind == ir::OpKind::For)
        emitWalk(*op, [&] { lowerBlock(opsOf(op->body())); });
      else
        emitCompute(*op);
    }
  }

  /// Piece by piece, as the computing role stages them.
  void add(const ir::Op &op, const StorePlacement &placed) {
    const plan::VarType &type = placement.types.at(op.operands().back());
    if (!role.findVar(placed.cursor()))
      role.vars.push_back({placed.cursor(), cursorType(placed.stages)});
    for (int64_t col = 0; col < type.cols; col += placed.pieceCols) {
      const bool all = type.division == plan::Division::Cols;
      emit(plan::Wait{{placed.full(), placed.cursor()}}, op.loc);
      std::vector<std::string> operands;
      for (size_t i = 0; i + 1 < op.operands().size(); ++i)
        operands.push_back(use(op.operand(i)));
      plan::Stmt &copy = emit(Kind::CopyOut, op.loc);
      copy.one = true;
      copy.map = placed.map;
      copy.view = op.view;
      copy.operands = std::move(operands);
      copy.ref = {placed.buffer, placed.cursor(), false, type.division};
      copy.colLo = all ? 0 : col;
      copy.colHi = all ? 0 : col + placed.pieceCols;
      copy.reducing = true;
      emit(plan::BulkCommit(), op.loc).one = true;
      emit(plan::BulkWait(), op.loc).one = true;
      emit(plan::Arrive{.at = {placed.empty(), placed.cursor()}}, op.loc);
      emit(plan::Advance{placed.cursor()}, op.loc);
    }
  }

  static void bulkWait(plan::Body &body) { plan::append(body, plan::BulkWait(), {}).one = true; }

  const Nest &nest;
  ir::OpSet needed;
};

/// In loops, and nowhere else.
bool isInLoops(const ir::Op &op) {
  const ir::Op *around = op.parent->parent;
  if (!around || around->kind != ir::OpKind::For)
    return false;
  for (; around && around->kind == ir::OpKind::For; around = around->parent->parent)
    ;
  return !around || around->kind == ir::OpKind::Parallel;
}

} // namespace

bool addApart(Placement &placement, int freeWarps) {
  if (placement.copiesItself || placement.multipliesByWarps() || placement.usesTensorMemory() ||
      placement.rings.empty() || placement.instances > freeWarps)
    return false;
  bool any = false;
  for (auto &[op, store] : placement.stores) {
    const auto suits = [&, buffer = store.buffer](const auto &other) {
      return other.second.buffer != buffer || (other.first->kind == ir::OpKind::Atomic && isInLoops(*other.first));
    };
    store.isApart = !store.map.empty() && !placement.asksStart.count(op) &&
                    placement.findBuffer(store.buffer)->aliasOf.empty() &&
                    std::all_of(placement.stores.begin(), placement.stores.end(), suits);
    any |= store.isApart;
  }
  return any;
}

bool chooseBulkReduce(const Schedule &schedule, bool isAlone, int freeWarps, Placement &placement, std::string &why) {
  if (!schedule.adder.value_or(schedule.aligned))
    return false;
  const bool adds = schedule.aligned && isAlone && placement.contested.empty() && addApart(placement, freeWarps);
  if (adds)
    placement.note(
        plan::Note::Roles, {},
        "what loops add is handed to the copy engine by a thread for each computing warpgroup, which goes on "
        "meanwhile");
  else if (schedule.adder)
    why = schedule.aligned ? "`adder`: no loop adds by the copy engine beside computing warpgroups, or the loading one "
                             "has no warps for it"
                           : "`adder`: it is of schedules `when aligned`";
  return adds;
}

plan::Role lowerBulkReduceRole(const Nest &nest, const Placement &placement, const SharedNames &shared,
                               std::vector<plan::Barrier> &barriers) {
  const int warps = placement.layout.threads / placement.warpSize;
  std::set<std::string> named;
  for (const plan::Buffer &buffer : placement.buffers) // in their order
    for (const auto &[op, store] : placement.stores)
      if (store.isApart && store.buffer == buffer.name && named.insert(buffer.name).second) {
        barriers.push_back({store.full(), store.stages, warps, placement.instances});
        barriers.push_back({store.empty(), store.stages, 1, placement.instances});
      }
  return Lowering(nest, placement, shared).run();
}

} // namespace tkc::planner
