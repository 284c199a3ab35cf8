// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/ComputeRole.h"

#include "backends/plan/analysis/Nest.h"
#include "backends/plan/placement/TensorMaps.h"
#include "backends/plan/roles/BackwardSlices.h"
#include "backends/plan/roles/CarriedVariables.h"
#include "backends/plan/roles/ComputeProducts.h"
#include "backends/plan/roles/ComputeStores.h"
#include "backends/plan/roles/IndexComparisons.h"
#include "backends/plan/roles/InlineCopies.h"
#include "backends/plan/roles/MemoryBarriers.h"
#include "backends/plan/roles/PartialRowSums.h"
#include "ir/Effects.h"
#include "ir/Products.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <tuple>

namespace tkc::planner {
namespace {

class Lowering : public RoleBuilder {
public:
  Lowering(const ir::Function &function, const Nest &nest, const Placement &placement, const Schedule &schedule,
           const SharedNames &shared)
      : RoleBuilder(placement, shared), nest(nest), schedule(schedule), needed(backwardSlices(nest, placement)),
        rowParts(findPartialRowSums(nest, placement, schedule)), memoryOrder(orderMemory(function, nest, placement)),
        carried(*this, needed, rowParts.lowest), products(*this, placement, result.unsupported),
        stores(*this, function, placement, schedule.aligned, result.unsupported) {
    if (placement.copiesItself)
      copies.emplace(*this, placement).addNeeded(needed);
  }

  ComputeRoleResult run() {
    role.name = placement.hasProducts && !placement.copiesItself ? "consumer" : "worker";
    role.warps = placement.layout.threads / placement.warpSize;
    role.instances = placement.instances;
    lowerStraight(nest.tileOps);
    if (!placement.stores.empty() && !placement.copiesItself)
      into(role.finish, [&] { stores.bulkWait({}, 0); });
    result.role = std::move(role);
    return std::move(result);
  }

private:
  using Kind = plan::StmtKind;

  void lowerStraight(const std::vector<const ir::Op *> &ops) {
    for (const ScheduledOp &item : orderBody(ops, nullptr, placement, 0, result.notes))
      lower(*item.op);
  }

  void unsupported(const ir::Op &op, std::string what) { result.unsupported.push_back({op.loc, std::move(what)}); }

  // ---- dispatch
  void lower(const ir::Op &op) {
    if (!needed.count(&op))
      return;
    if (memoryOrder.barrierBefore.count(&op))
      syncMemory(op.loc);
    if (const auto sides = asIndexComparison(op); sides && placement.hasProducts)
      return lowerIndexComparison(op, sides->first, sides->second, *this);
    switch (op.kind) {
    case ir::OpKind::For:
      return lowerFor(op);
    case ir::OpKind::If:
      return lowerIf(op);
    case ir::OpKind::Dot:
    case ir::OpKind::DotScaled:
      return products.lower(op);
    case ir::OpKind::Store:
      return stores.lower(op);
    case ir::OpKind::Atomic:
      return stores.lower(op, use(op.operands().back()), Kind::Atomic);
    case ir::OpKind::Load:
      if (copies && copies->isOnceLoad(op))
        copies->load(op);
      return lowerLoad(op);
    case ir::OpKind::Transpose:
      return lowerTranspose(op);
    case ir::OpKind::AsCol:
    case ir::OpKind::AsRow:
    case ir::OpKind::ToScalar:
      return lowerAlias(op);
    case ir::OpKind::Reduce:
    case ir::OpKind::Cumsum:
      return lowerReduce(op);
    case ir::OpKind::Full:
      if (typeOf(op.result()).kind == plan::VarType::Scalar)
        return emitMove(define(op.result()), use(op.operand(0)), op.loc);
      emitCompute(op);
      return;
    case ir::OpKind::Parallel:
    case ir::OpKind::Yield:
      return;
#define TKC_UNARY(kind, name, domain, summary) case ir::OpKind::kind:
#define TKC_BINARY(kind, name, domain, summary) case ir::OpKind::kind:
#include "ir/Ops.def"
    case ir::OpKind::Const:
    case ir::OpKind::Dim:
    case ir::OpKind::Param:
    case ir::OpKind::Cast:
    case ir::OpKind::Select:
    case ir::OpKind::Iota:
    case ir::OpKind::Begin:
    case ir::OpKind::End:
    case ir::OpKind::Index:
    case ir::OpKind::Elements:
    case ir::OpKind::Shift:
    case ir::OpKind::Philox:
    case ir::OpKind::ExternCall:
      emitCompute(op);
      return;
    }
  }

  void lowerLoad(const ir::Op &load) {
    if (placement.registerLoads.count(&load)) {
      emitCompute(load).own = memoryOrder.ownLoads.count(&load) != 0;
      return;
    }
    const auto key = placement.loadKeys.find(&load);
    if (key == placement.loadKeys.end())
      return;
    const RingMember &member = *placement.findMember(key->second);
    if (member.isVector)
      loadVector(load, member, *placement.findRing(key->second));
    else if (member.isReadByThreads)
      loadTile(load, member, *placement.findRing(key->second));
  }

  /// Each instance reads its share of what products read.
  void loadTile(const ir::Op &load, const RingMember &member, const RingPlacement &ring) {
    const plan::VarType type = typeOf(load.result());
    const std::string dest = define(load.result());
    plan::Stmt &stmt = emit(Kind::LoadShared, load.loc);
    stmt.dest = dest;
    stmt.ref = {member.buffer, stageCursor(placement, ring), false, plan::heldPart(type)};
  }

  /// A vector's stage is a row; a column reads it transposed. What all instances hold, each reads whole.
  void loadVector(const ir::Op &load, const RingMember &member, const RingPlacement &ring) {
    const plan::VarType type = typeOf(load.result());
    const bool isColumn = type.kind == plan::VarType::Column;
    const plan::Division along = isColumn ? plan::Division::Rows : plan::Division::Cols;
    const std::string dest = define(load.result());
    plan::Stmt &stmt = emit(Kind::LoadShared, load.loc);
    stmt.dest = dest;
    stmt.ref = {member.buffer, ring.cursor(), isColumn, type.division == along ? along : plan::Division::Whole};
  }

  void lowerAlias(const ir::Op &op) {
    if (typeOf(op.operand(0)) == typeOf(op.result())) {
      alias(op.result(), use(op.operand(0)));
      return;
    }
    respread(op); // a vector that is held as a column and wanted as a row, or the other way
  }

  /// A product reads the transpose of what is in shared memory; what vector work wants transposed goes through it and
  /// back.
  void lowerTranspose(const ir::Op &op) {
    if (!placement.onlyFeedsProducts(op.result()))
      respread(op);
  }

  /// result = operandᵀ, through shared memory.
  void respread(const ir::Op &op) {
    const plan::VarType from = typeOf(op.operand(0)), to = typeOf(op.result());
    if (isPacked(from.elem))
      return unsupported(op, "a transposition of packed elements");
    const plan::Swizzle swizzle = swizzleOfTurned(from, to);
    const bool turnsFirst = swizzle != plan::Swizzle::None;
    plan::Buffer buffer;
    buffer.name = placement.uniqueBuffer((turnsFirst ? "turned_" : "transposed_") + use(op.operand(0)));
    buffer.elem = from.elem;
    buffer.rows = std::max(from.rows, to.cols);
    buffer.cols = std::max(from.cols, to.rows);
    buffer.swizzle = swizzle;
    buffer.loc = op.loc;
    if (turnsFirst)
      std::swap(buffer.rows, buffer.cols);
    addScratch(buffer, result.scratch.end());
    result.transposed.insert(buffer.name);
    syncAll(op.loc);
    emitStoreShared(use(op.operand(0)), from, buffer.name, turnsFirst, op.loc);
    syncAll(op.loc);
    const std::string dest = define(op.result());
    plan::Stmt &read = emit(Kind::LoadShared, op.loc);
    read.dest = dest;
    read.ref = {buffer.name, "", !turnsFirst, plan::heldPart(to)};
  }

  /// Accumulators of warpgroups with elements of 16 bits are stored by whole matrices, each turned, to memory that
  /// holds the transpose and has this swizzle. None: elements are turned as they are read.
  plan::Swizzle swizzleOfTurned(const plan::VarType &from, const plan::VarType &to) const {
    const auto isAccumulator = [](const plan::VarType &type) {
      return type.kind == plan::VarType::Fragment &&
             (type.layout.kind == plan::Layout::Mma || type.layout.kind == plan::Layout::Tensor);
    };
    if (bitWidth(from.elem) != 16 || !isAccumulator(from) || !isAccumulator(to) || from.rows != to.cols ||
        from.cols != to.rows)
      return plan::Swizzle::None;
    const bool isShared = from.division == plan::Division::Rows || to.division == plan::Division::Cols;
    return chooseSwizzle(plan::sharedBytes(from.elem, to.cols / (isShared ? placement.instances : 1)));
  }

  /// After it all threads see what each has done to global memory.
  void syncMemory(SourceLoc loc) { emit(plan::Sync{barrierOfAll(), totalThreads(), true}, loc); }
  // ---- reductions
  void lowerReduce(const ir::Op &op) {
    const plan::VarType type = typeOf(op.operand(0));
    const int64_t extent = op.axis == 1 ? op.operand(0)->type.cols : op.operand(0)->type.rows;
    const int64_t padded = op.axis == 1 ? type.cols : type.rows;
    plan::Stmt &stmt = emitCompute(op);
    stmt.byThreads = rowParts.reductions.count(&op) != 0;
    if (padded != extent && op.kind == ir::OpKind::Reduce) // a scan's padding comes last and is not stored
      stmt.colHi = extent;
    const bool crossesWarps =
        op.axis == 0 ? type.layout.kind != plan::Layout::Rows || type.layout.threadsPerRow < type.layout.threads
                     : type.layout.threadsPerRow > placement.warpSize || type.division == plan::Division::Cols;
    if (!crossesWarps || stmt.byThreads || isOneElement(type, op.axis))
      return;
    const bool isWide = isPlace(op) && type.elem == ElemType::F64;
    stmt.ref.buffer = scratchFor(type, op.axis, isWide ? 2 : 1);
    stmt.meets.id = barrierOfAll();
    stmt.meets.threads = totalThreads();
  }

  /// Of what is combined, where it stands.
  static bool isPlace(const ir::Op &op) {
    return op.kind == ir::OpKind::Reduce &&
           (op.reduce == ir::ReduceKind::ArgMax || op.reduce == ir::ReduceKind::ArgMin);
  }

  /// What is combined along the axis is one element, which every thread that wants the result holds.
  static bool isOneElement(const plan::VarType &type, int axis) {
    return type.kind == plan::VarType::Scalar || type.kind == (axis == 1 ? plan::VarType::Column : plan::VarType::Row);
  }

  std::string scratchFor(const plan::VarType &type, int axis, int slots) {
    const std::string name = placement.uniqueBuffer("reduce_scratch");
    // The runtime's scratch has two halves, each of so many slots of 8 bytes for a row slot or a column of each warp
    // (tk/reduce.h).
    const int across = std::max(type.layout.threadsPerRow / placement.warpSize, 1);
    // Groups that share columns tell each other a number for each row, else each row's first lane writes it.
    const bool sharesCols = axis == 1 && type.division == plan::Division::Cols;
    const int64_t lanes = sharesCols ? placement.warpSize : type.layout.threadsPerRow;
    const int64_t rows =
        sharesCols ? std::max<int64_t>(type.rows, type.layout.threads / type.layout.threadsPerRow) : type.rows;
    const int64_t rowSlots = rows * lanes / type.layout.threads;
    const int64_t cols = type.division == plan::Division::Cols ? type.cols / placement.instances : type.cols;
    const int64_t elements = std::max<int64_t>(slots * (axis == 0 ? cols / across : rowSlots), 8);
    plan::Buffer buffer;
    buffer.name = name;
    buffer.elem = ElemType::F32;
    buffer.rows = totalThreads() / placement.warpSize;
    buffer.cols = elements * 2 * 8 / byteWidth(ElemType::F32);
    buffer.swizzle = plan::Swizzle::None;
    addScratch(buffer, result.scratch.begin());
    return name;
  }

  /// Scratch memory, at `place` among the rest. Operations may share it by its name, such as clones of one in several
  /// loops, perhaps with other layouts: it is then as large as the largest.
  void addScratch(const plan::Buffer &buffer, std::vector<plan::Buffer>::const_iterator place) {
    const auto known = std::find_if(result.scratch.begin(), result.scratch.end(),
                                    [&](const plan::Buffer &other) { return other.name == buffer.name; });
    if (known == result.scratch.end()) {
      result.scratch.insert(place, buffer);
      return;
    }
    known->rows = std::max(known->rows, buffer.rows);
    known->cols = std::max(known->cols, buffer.cols);
  }

  // ---- control
  void lowerIf(const ir::Op &op) {
    std::vector<std::string> dests;
    for (const auto &res : op.results)
      dests.push_back(define(res.get()));
    plan::Stmt branch;
    branch.kind = Kind::If;
    branch.loc = op.loc;
    branch.operands = {use(op.operand(0))};
    for (size_t side = 0; side < 2; ++side)
      into(side == 0 ? branch.body : branch.orElse, [&] {
        if (op.bodies.size() <= side)
          return;
        lowerStraight(opsOf(op.body(side)));
        const ir::Op *yield = yieldOf(op.body(side));
        for (size_t i = 0; i < dests.size(); ++i)
          emitMove(dests[i], use(yield->operand(i)), op.loc);
      });
    emit(Kind::If, op.loc) = std::move(branch);
  }

  /// Which part of a loop that was split this is, and whether it still selects.
  void noteLoop(const ir::Op &loop) {
    const std::vector<const ir::Op *> ops = opsOf(loop.body());
    const auto selects = std::count_if(ops.begin(), ops.end(), [](const ir::Op *op) {
      return op->kind == ir::OpKind::Select && op->result()->type.kind == ir::Type::Tile;
    });
    result.notes.push_back({plan::Note::Loops,
                            selects == 0 ? "selects no elements of tiles"
                                         : fmt::format("selects elements of tiles {} time{} an iteration", selects,
                                                       selects == 1 ? "" : "s"),
                            loop.loc});
  }

  /// The order of the body, with the variables that it computes in place. No product is late whose result would have
  /// to be moved.
  std::vector<ScheduledOp> orderLoop(const ir::Op &loop, int overlap) {
    const Names names = visibleNames();
    const std::vector<plan::Note> notes = result.notes;
    std::vector<ScheduledOp> order = orderBody(opsOf(loop.body()), &loop, placement, overlap, result.notes);
    carried.coalesce(loop, order);
    if (carried.canBeLate(loop, order))
      return order;
    setVisibleNames(names);
    result.notes = notes;
    return orderLoop(loop, 0);
  }

  void lowerFor(const ir::Op &loop) {
    carried.begin(loop);
    const bool hasNext = !placement.copiesItself && !ir::runsAtMostOnce(loop);
    const int overlap = hasNext ? static_cast<int>(schedule.overlap.value_or(1)) : 0;
    const std::vector<ScheduledOp> order = orderLoop(loop, overlap);
    noteLoop(loop);
    const bool pipelined =
        std::any_of(order.begin(), order.end(), [](const ScheduledOp &item) { return item.stage > 0; });
    result.overlapped |= pipelined;

    plan::Stmt stmt;
    stmt.kind = Kind::For;
    stmt.loc = loop.loc;
    stmt.operands = {use(loop.operand(0)), use(loop.operand(1))};
    stmt.tileSize = loop.tileSize;
    stmt.dest = define(loop.body().args[0].get());
    if (loop.byMasks)
      result.byMasks.insert(stmt.dest);
    if (pipelined) {
      into(stmt.prologue, [&] { lowerStage(order, 0), carried.yield(loop); });
      into(stmt.body, [&] { lowerStage(order, -1), carried.yield(loop); });
      into(stmt.epilogue, [&] { lowerStage(order, 1); });
    } else {
      into(stmt.body, [&] { lowerStage(order, -1), carried.yield(loop); });
    }
    if (copies)
      copies->pipeline(loop, stmt);
    emit(Kind::For, loop.loc) = std::move(stmt);
    if (copies)
      copies->finish(loop);
    for (size_t i = 0; i < loop.results.size(); ++i) {
      alias(loop.result(i), use(loop.body().args[i + 1].get()));
    }
    ir::ValueMap<std::string> ownOf; // maxima of the threads, of those that are put together here
    for (const auto &result : loop.results)
      if (rowParts.ends.count(result.get()) && rowParts.maxima.count(result.get())) {
        ownOf[result.get()] = use(result.get());
        alias(result.get(), finishParts(use(result.get()), typeOf(result.get()), ir::ReduceKind::Max, loop.loc));
      }
    for (const auto &result : loop.results)
      if (rowParts.ends.count(result.get()) && !rowParts.maxima.count(result.get()) && !result->users.empty())
        addUpParts(*result, ownOf, loop.loc);
  }

  /// Each thread's part is first brought to the maximum of all, where it goes by its own.
  void addUpParts(const ir::Value &result, const ir::ValueMap<std::string> &ownOf, SourceLoc loc) {
    const plan::VarType type = typeOf(&result);
    std::string parts = use(&result);
    if (const auto maximum = rowParts.maximumOf.find(&result); maximum != rowParts.maximumOf.end()) {
      const std::string apart =
          emitScalar(ir::OpKind::Sub, "apart", {ownOf.at(maximum->second), use(maximum->second)}, loc);
      const std::string factor = emitScalar(rowParts.exponentialOf.at(&result), "factor", {apart}, loc);
      parts = emitScalar(ir::OpKind::Mul, parts + "_part", {parts, factor}, loc);
    }
    alias(&result, finishParts(parts, type, ir::ReduceKind::Sum, loc));
  }

  std::string emitScalar(ir::OpKind op, const std::string &hint, std::vector<std::string> operands, SourceLoc loc) {
    const std::string dest = declare(hint, scalarOrIndexType(ir::Type::scalar(ElemType::F32)));
    plan::Stmt &stmt = emit(Kind::Compute, loc);
    stmt.op = op;
    stmt.dest = dest;
    stmt.operands = std::move(operands);
    return dest;
  }

  /// The whole of what threads hold parts of, a column or, of a row in several warps, a number.
  std::string finishParts(const std::string &parts, const plan::VarType &type, ir::ReduceKind kind, SourceLoc loc) {
    const std::string whole = declare(parts + (kind == ir::ReduceKind::Sum ? "_sum" : "_max"), type);
    plan::Stmt &stmt = emit(Kind::Compute, loc);
    stmt.op = ir::OpKind::Reduce;
    stmt.reduce = kind;
    stmt.axis = 1;
    stmt.byThreads = true;
    stmt.dest = whole;
    stmt.operands = {parts};
    const bool isNumber = type.kind == plan::VarType::Scalar;
    if (isNumber || type.division == plan::Division::Cols) {
      stmt.ref.buffer = scratchFor(isNumber ? plan::VarType{.rows = 1, .layout = placement.layout} : type, 1, 1);
      stmt.meets.id = barrierOfAll();
      stmt.meets.threads = totalThreads();
    }
    return whole;
  }

  /// stage -1: all.
  void lowerStage(const std::vector<ScheduledOp> &order, int stage) {
    products.beginPass();
    for (const ScheduledOp &item : order)
      if (stage < 0 || item.stage == stage)
        lower(*item.op);
  }

  const Nest &nest;
  const Schedule &schedule;
  ir::OpSet needed;
  RowParts rowParts;
  MemoryOrder memoryOrder;
  CarriedVariables carried;
  std::optional<InlineCopies> copies; ///< of a role that fills the rings itself
  ComputeRoleResult result;
  ComputeProducts products;
  ComputeStores stores;
};

} // namespace

ComputeRoleResult lowerComputeRole(const ir::Function &function, const Nest &nest, const Placement &placement,
                                   const Schedule &schedule, const SharedNames &shared) {
  return Lowering(function, nest, placement, schedule, shared).run();
}

} // namespace tkc::planner
