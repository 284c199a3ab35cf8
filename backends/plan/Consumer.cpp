// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/Consumer.h"

#include "backends/plan/Needed.h"
#include "backends/plan/Walk.h"

#include <algorithm>
#include <cassert>

namespace tkc::planner {
namespace {

class Lowering : public RoleBuilder {
public:
  Lowering(const ir::Function &function, const Nest &nest, const Placement &placement, const Schedule &schedule,
           const std::map<const ir::Value *, std::string> &shared)
      : RoleBuilder(placement, shared), function(function), nest(nest), schedule(schedule),
        needed(neededOps(nest, placement)) {}

  ConsumerResult run() {
    role.name = placement.hasProducts ? "consumer" : "worker";
    role.warps = placement.layout.threads / 32;
    role.instances = placement.instances;
    lowerStraight(nest.tileOps);
    if (!placement.stores.empty())
      into(role.finish, [&] { bulkWait({}, 0); });
    result.role = std::move(role);
    return std::move(result);
  }

private:
  using Kind = plan::StmtKind;

  int totalThreads() const { return placement.layout.threads * placement.instances; }

  void unsupported(const ir::Op &op, std::string what) { result.unsupported.push_back({op.loc, std::move(what)}); }

  void lowerStraight(const std::vector<const ir::Op *> &ops) {
    for (const ScheduledOp &item : orderBody(ops, nullptr, placement, 0))
      lower(*item.op);
  }

  // ---- dispatch
  // ------------------------------------------------------------------------------------------------------
  void lower(const ir::Op &op) {
    if (!needed.count(&op))
      return;
    switch (op.kind) {
    case ir::OpKind::For:
      return lowerFor(op);
    case ir::OpKind::If:
      return lowerIf(op);
    case ir::OpKind::Dot:
      return lowerProduct(op);
    case ir::OpKind::Store:
      return lowerStore(op);
    case ir::OpKind::Atomic:
      return lowerDirectStore(op, use(op.operands().back()), Kind::Atomic);
    case ir::OpKind::Load:
      if (placement.registerLoads.count(&op))
        emitCompute(op);
      return;
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

  bool onlyFeedsProducts(const ir::Value *value) const {
    return std::all_of(value->users.begin(), value->users.end(), [&](const ir::Op *user) {
      return user->kind == ir::OpKind::Dot ||
             (user->kind == ir::OpKind::Transpose && onlyFeedsProducts(user->result()));
    });
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
    if (!onlyFeedsProducts(op.result()))
      respread(op);
  }

  /// result = operandᵀ, through shared memory.
  void respread(const ir::Op &op) {
    const plan::VarType from = typeOf(op.operand(0)), to = typeOf(op.result());
    if (from.kind != plan::VarType::Fragment && placement.instances > 1) {
      unsupported(op, "turning a column or a row that several warpgroups share");
      define(op.result());
      return;
    }
    plan::Buffer buffer;
    buffer.name = "transposed_" + use(op.operand(0));
    buffer.elem = from.elem;
    buffer.rows = std::max(from.rows, to.cols);
    buffer.cols = std::max(from.cols, to.rows);
    buffer.swizzle = plan::Swizzle::None;
    buffer.loc = op.loc;
    auto sameName = [&](const plan::Buffer &other) { return other.name == buffer.name; };
    if (std::none_of(result.scratch.begin(), result.scratch.end(), sameName))
      result.scratch.push_back(buffer);
    syncAll(op.loc);
    plan::Stmt &write = emit(Kind::StoreShared, op.loc);
    write.operands = {use(op.operand(0))};
    write.ref = {buffer.name, "", false, from.division};
    syncAll(op.loc);
    const std::string dest = define(op.result());
    plan::Stmt &read = emit(Kind::LoadShared, op.loc);
    read.dest = dest;
    read.ref = {buffer.name, "", true, to.division};
  }

  void syncAll(SourceLoc loc) {
    plan::Stmt &stmt = emit(Kind::Sync, loc);
    stmt.id = allConsumersBarrier;
    stmt.threads = totalThreads();
  }

  // ---- reductions
  // ----------------------------------------------------------------------------------------------------
  void lowerReduce(const ir::Op &op) {
    const plan::VarType type = typeOf(op.operand(0));
    const int64_t extent = op.axis == 1 ? op.operand(0)->type.cols : op.operand(0)->type.rows;
    const int64_t padded = op.axis == 1 ? type.cols : type.rows;
    plan::Stmt &stmt = emitCompute(op);
    if (padded != extent && op.kind == ir::OpKind::Reduce) // a scan's padding comes last and is not stored
      stmt.colHi = extent;
    const bool crossesWarps =
        op.axis == 0 ? type.layout.kind == plan::Layout::Mma || type.layout.threadsPerRow < type.layout.threads
                     : type.layout.threadsPerRow > 32 || type.division == plan::Division::Cols;
    if (!crossesWarps)
      return;
    stmt.ref.buffer = scratchFor(type, op.axis);
    stmt.id = allConsumersBarrier;
    stmt.threads = totalThreads();
  }

  std::string scratchFor(const plan::VarType &type, int axis) {
    const std::string name = "reduce_scratch";
    const int64_t cols = std::max<int64_t>(axis == 0 ? type.cols : type.rows, 32);
    auto found = std::find_if(result.scratch.begin(), result.scratch.end(),
                              [&](const plan::Buffer &b) { return b.name == name; });
    if (found == result.scratch.end()) {
      plan::Buffer buffer;
      buffer.name = name;
      buffer.elem = type.elem == ElemType::F64 ? ElemType::F64 : ElemType::F32;
      buffer.rows = totalThreads() / 32;
      buffer.swizzle = plan::Swizzle::None;
      found = result.scratch.insert(result.scratch.begin(), buffer);
    }
    plan::Buffer &buffer = *found;
    buffer.cols = std::max(buffer.cols, cols);
    if (type.elem == ElemType::F64)
      buffer.elem = ElemType::F64;
    return name;
  }

  // ---- products
  // ------------------------------------------------------------------------------------------------------
  void lowerProduct(const ir::Op &dot) {
    if (typeOf(dot.result()).kind != plan::VarType::Fragment) {
      unsupported(dot, "a product of one row or one column");
      define(dot.result());
      return;
    }
    const ProductPlacement &product = placement.products.at(&dot);
    const plan::Division division = typeOf(dot.result()).division;
    const bool accumulates = dot.operands().size() > 2;
    for (const Operand *operand : {&product.a, &product.b})
      if (operand->kind == Operand::Staged)
        stageOperand(*operand, dot.loc);
    std::string dest;
    if (accumulates && !isDefined(dot.result()) && dot.operand(2)->users.size() == 1)
      alias(dot.result(), use(dot.operand(2)));
    dest = define(dot.result());
    if (accumulates)
      emitMove(dest, use(dot.operand(2)), dot.loc);
    plan::Stmt &stmt = emit(Kind::Product, dot.loc);
    stmt.dest = dest;
    stmt.accumulate = accumulates;
    stmt.byThreads = product.byThreads;
    stmt.aShared = product.a.kind != Operand::Register;
    if (stmt.aShared)
      stmt.aRef = refTo(product.a, division == plan::Division::Rows ? division : plan::Division::Whole);
    else
      stmt.operands = {use(product.a.value)};
    stmt.ref = refTo(product.b, division == plan::Division::Cols ? division : plan::Division::Whole);
  }

  plan::BufferRef refTo(const Operand &operand, plan::Division slice) const {
    plan::BufferRef ref{operand.buffer, "", operand.transposed, slice};
    if (operand.kind == Operand::Ring)
      ref.cursor = placement.findRing(placement.loadKeys.at(operand.value->definingOp))->cursor();
    return ref;
  }

  void stageOperand(const Operand &operand, SourceLoc loc) {
    if (!stagedNow.insert(operand.value).second)
      return;
    plan::Stmt &stmt = emit(Kind::StoreShared, loc);
    stmt.operands = {use(operand.value)};
    stmt.ref = {operand.buffer, "", false, typeOf(operand.value).division};
  }

  // ---- stores
  // --------------------------------------------------------------------------------------------------------
  void lowerStore(const ir::Op &store) {
    const ir::Value *value = store.operands().back();
    const std::string source = converted(value, function.findParam(store.view.tensor)->elem, store.loc);
    auto found = placement.stores.find(&store);
    if (found == placement.stores.end())
      return lowerDirectStore(store, source, Kind::Store);
    plan::Stmt branch;
    branch.kind = Kind::If;
    branch.loc = store.loc;
    branch.map = found->second.map;
    into(branch.body, [&] { storeInPieces(store, source, found->second); });
    into(branch.orElse, [&] { lowerDirectStore(store, source, Kind::Store); });
    emit(Kind::If, store.loc) = std::move(branch);
  }

  std::string converted(const ir::Value *value, ElemType elem, SourceLoc loc) {
    plan::VarType type = typeOf(value);
    if (type.elem == elem || type.kind == plan::VarType::TileIndex)
      return use(value);
    const std::string source = use(value);
    type.elem = elem;
    const std::string dest = declare(source + "_" + std::string(spelling(elem)), type);
    plan::Stmt &stmt = emit(Kind::Compute, loc);
    stmt.op = ir::OpKind::Cast;
    stmt.dest = dest;
    stmt.operands = {source};
    return dest;
  }

  void lowerDirectStore(const ir::Op &store, const std::string &source, Kind kind) {
    std::vector<std::string> operands = indexOperands(store);
    operands.push_back(source);
    plan::Stmt &stmt = emit(kind, store.loc);
    stmt.operands = std::move(operands);
    stmt.view = store.view;
    stmt.atomic = store.atomic;
    stmt.firstInstance = placement.instances > 1 && typeOf(store.operands().back()).division == plan::Division::Whole;
  }

  std::vector<std::string> indexOperands(const ir::Op &op) const {
    std::vector<std::string> operands;
    for (size_t i = 0; i + 1 < op.operands().size(); ++i)
      operands.push_back(use(op.operand(i)));
    return operands;
  }

  void bulkWait(SourceLoc loc, int count) {
    plan::Stmt &stmt = emit(Kind::BulkWait, loc);
    stmt.count = count;
    stmt.one = true;
  }

  void syncInstance(SourceLoc loc) {
    plan::Stmt &stmt = emit(Kind::Sync, loc);
    stmt.id = instanceBarrier;
    stmt.threads = placement.layout.threads;
  }

  /// Each warpgroup stages its rows of some columns, and one of its threads hands them to the copy engine.
  void storeInPieces(const ir::Op &store, const std::string &source, const StorePlacement &placed) {
    const plan::VarType type = typeOf(store.operands().back());
    const plan::BufferRef ref{placed.buffer, declare(placed.cursor(), cursorType(placed.stages)), false, type.division};
    for (int64_t col = 0; col < type.cols; col += placed.pieceCols) {
      bulkWait(store.loc, placed.stages - 1);
      syncInstance(store.loc);
      plan::Stmt &write = emit(Kind::StoreShared, store.loc);
      write.operands = {source};
      write.ref = ref;
      write.colLo = col;
      write.colHi = col + placed.pieceCols;
      emit(Kind::FenceProxy, store.loc);
      syncInstance(store.loc);
      plan::Stmt &copy = emit(Kind::CopyOut, store.loc);
      copy.one = true;
      copy.map = placed.map;
      copy.view = store.view;
      copy.operands = indexOperands(store);
      copy.ref = ref;
      copy.colLo = col;
      copy.colHi = col + placed.pieceCols;
      emit(Kind::BulkCommit, store.loc).one = true;
      emit(Kind::Advance, store.loc).cursor = ref.cursor;
    }
  }

  // ---- control
  // -------------------------------------------------------------------------------------------------------
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

  static const ir::Op *yieldOf(const ir::Block &body) {
    return body.ops.empty() || body.ops.back()->kind != ir::OpKind::Yield ? nullptr : body.ops.back().get();
  }

  void lowerFor(const ir::Op &loop) {
    carryIn(loop);
    const ir::Op *yield = yieldOf(loop.body());
    std::vector<ScheduledOp> order =
        orderBody(opsOf(loop.body()), &loop, placement, static_cast<int>(schedule.overlap.value_or(1)));
    coalesce(loop, yield, order);
    const bool pipelined =
        std::any_of(order.begin(), order.end(), [](const ScheduledOp &item) { return item.stage > 0; });
    result.overlapped |= pipelined;

    plan::Stmt stmt;
    stmt.kind = Kind::For;
    stmt.loc = loop.loc;
    stmt.operands = {use(loop.operand(0)), use(loop.operand(1))};
    stmt.tileSize = loop.tileSize;
    stmt.dest = define(loop.body().args[0].get());
    if (pipelined) {
      into(stmt.prologue, [&] { lowerStage(order, 0), carryOut(loop, yield); });
      into(stmt.body, [&] { lowerStage(order, -1), carryOut(loop, yield); });
      into(stmt.epilogue, [&] { lowerStage(order, 1); });
    } else {
      into(stmt.body, [&] { lowerStage(order, -1), carryOut(loop, yield); });
    }
    emit(Kind::For, loop.loc) = std::move(stmt);
    for (size_t i = 0; i < loop.results.size(); ++i)
      alias(loop.result(i), use(loop.body().args[i + 1].get()));
  }

  /// stage -1: all.
  void lowerStage(const std::vector<ScheduledOp> &order, int stage) {
    stagedNow.clear();
    for (const ScheduledOp &item : order)
      if (stage < 0 || item.stage == stage)
        lower(*item.op);
  }

  /// Carried variables start as their initial values, in the same variable where nothing else needs those.
  void carryIn(const ir::Op &loop) {
    for (size_t i = 2; i < loop.operands().size(); ++i) {
      const ir::Value *initial = loop.operand(i);
      const ir::Value *arg = loop.body().args[i - 1].get();
      if (initial->users.size() == 1 && isOwn(initial) && typeOf(initial) == typeOf(arg))
        alias(arg, use(initial));
      else
        emitMove(define(arg), use(initial), loop.loc);
    }
  }

  /// Whether the role computed the value into a variable of its own, not an alias of another value's.
  bool isOwn(const ir::Value *value) const {
    const ir::Op *op = value->definingOp;
    if (!op || !needed.count(op))
      return false;
    return op->kind != ir::OpKind::AsCol && op->kind != ir::OpKind::AsRow && op->kind != ir::OpKind::ToScalar &&
           role.findVar(use(value)) != nullptr;
  }

  /// Yielded values are computed straight into the carried variables where no later op still reads the old ones.
  void coalesce(const ir::Op &loop, const ir::Op *yield, const std::vector<ScheduledOp> &order) {
    if (!yield)
      return;
    for (size_t i = 0; i < yield->operands().size(); ++i)
      coalesceValue(yield->operand(i), loop.body().args[i + 1].get(), order);
  }

  bool coalesceValue(const ir::Value *value, const ir::Value *arg, const std::vector<ScheduledOp> &order) {
    if (value == arg)
      return true;
    const ir::Op *op = value->definingOp;
    auto at = std::find_if(order.begin(), order.end(), [&](const ScheduledOp &item) { return item.op == op; });
    if (!op || at == order.end() || isDefined(value) || value->users.size() != 1 || !(typeOf(value) == typeOf(arg)))
      return false;
    if (op->kind == ir::OpKind::For || op->kind == ir::OpKind::If || op->kind == ir::OpKind::AsCol ||
        op->kind == ir::OpKind::AsRow || op->kind == ir::OpKind::ToScalar || op->kind == ir::OpKind::Transpose)
      return false;
    if (at->stage == 0)
      for (auto later = at + 1; later != order.end(); ++later)
        if (readsDeep(*later->op, arg))
          return false;
    if (op->kind == ir::OpKind::Dot && op->operands().size() > 2 && !coalesceValue(op->operand(2), arg, order))
      return false;
    alias(value, use(arg));
    return true;
  }

  static bool readsDeep(const ir::Op &op, const ir::Value *value) {
    const auto &operands = op.operands();
    if (std::find(operands.begin(), operands.end(), value) != operands.end())
      return true;
    for (const auto &body : op.bodies)
      for (const auto &inner : body->ops)
        if (readsDeep(*inner, value))
          return true;
    return false;
  }

  /// What was not computed in place is moved; values that other moves would overwrite first go through temporaries.
  void carryOut(const ir::Op &loop, const ir::Op *yield) {
    if (!yield)
      return;
    std::vector<std::pair<std::string, std::string>> moves;
    for (size_t i = 0; i < yield->operands().size(); ++i) {
      const std::string dest = use(loop.body().args[i + 1].get());
      if (isDefined(yield->operand(i)) && dest != use(yield->operand(i)))
        moves.emplace_back(dest, use(yield->operand(i)));
    }
    for (size_t i = 0; i < moves.size(); ++i)
      for (size_t j = i + 1; j < moves.size(); ++j)
        if (moves[j].second == moves[i].first) {
          const std::string saved = declare(moves[i].first + "_old", role.findVar(moves[i].first)->type);
          emitMove(saved, moves[i].first, loop.loc);
          moves[j].second = saved;
        }
    for (const auto &[dest, source] : moves)
      emitMove(dest, source, loop.loc);
  }

  const ir::Function &function;
  const Nest &nest;
  const Schedule &schedule;
  std::set<const ir::Op *> needed;
  std::set<const ir::Value *> stagedNow; ///< stored to their staging buffer in this pass over the body
  ConsumerResult result;
};

} // namespace

ConsumerResult lowerConsumer(const ir::Function &function, const Nest &nest, const Placement &placement,
                             const Schedule &schedule, const std::map<const ir::Value *, std::string> &shared) {
  return Lowering(function, nest, placement, schedule, shared).run();
}

} // namespace tkc::planner
