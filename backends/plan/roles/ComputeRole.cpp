// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/ComputeRole.h"

#include "backends/plan/analysis/Nest.h"
#include "backends/plan/roles/BackwardSlices.h"
#include "backends/plan/roles/CarriedVariables.h"
#include "backends/plan/roles/IndexComparisons.h"
#include "backends/plan/roles/InlineCopies.h"
#include "backends/plan/roles/MemoryBarriers.h"
#include "backends/plan/roles/PartialRowSums.h"
#include "ir/Effects.h"
#include "ir/Products.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <tuple>

namespace tkc::planner {
namespace {

class Lowering : public RoleBuilder {
public:
  Lowering(const ir::Function &function, const Nest &nest, const Placement &placement, const Schedule &schedule,
           const SharedNames &shared)
      : RoleBuilder(placement, shared), function(function), nest(nest), schedule(schedule),
        needed(neededOps(nest, placement)), rowParts(findRowParts(nest, placement, schedule)),
        memoryOrder(orderMemory(function, nest, placement)), carried(*this, needed, rowParts.lowest) {
    if (placement.copiesItself)
      copies.emplace(*this, placement).addNeeded(needed);
  }

  ConsumerResult run() {
    role.name = placement.hasProducts && !placement.copiesItself ? "consumer" : "worker";
    role.warps = placement.layout.threads / placement.warpSize;
    role.instances = placement.instances;
    lowerStraight(nest.tileOps);
    if (!placement.stores.empty() && !placement.copiesItself)
      into(role.finish, [&] { bulkWait({}, 0); });
    result.role = std::move(role);
    return std::move(result);
  }

private:
  using Kind = plan::StmtKind;

  int totalThreads() const { return placement.layout.threads * placement.instances; }

  void unsupported(const ir::Op &op, std::string what) { result.unsupported.push_back({op.loc, std::move(what)}); }

  void lowerStraight(const std::vector<const ir::Op *> &ops) {
    for (const ScheduledOp &item : orderBody(ops, nullptr, placement, 0, result.notes))
      lower(*item.op);
  }

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
      return lowerProduct(op);
    case ir::OpKind::Store:
      return lowerStore(op);
    case ir::OpKind::Atomic:
      return lowerStore(op, use(op.operands().back()), Kind::Atomic);
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
    stmt.ref = {member.buffer, ring.cursor(), false, plan::heldPart(type)};
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
    plan::Buffer buffer;
    buffer.name = placement.uniqueBuffer("transposed_" + use(op.operand(0)));
    buffer.elem = from.elem;
    buffer.rows = std::max(from.rows, to.cols);
    buffer.cols = std::max(from.cols, to.rows);
    buffer.swizzle = plan::Swizzle::None;
    buffer.loc = op.loc;
    addScratch(buffer, result.scratch.end());
    result.transposed.insert(buffer.name);
    syncAll(op.loc);
    emitStoreShared(use(op.operand(0)), from, buffer.name, false, op.loc);
    syncAll(op.loc);
    const std::string dest = define(op.result());
    plan::Stmt &read = emit(Kind::LoadShared, op.loc);
    read.dest = dest;
    read.ref = {buffer.name, "", true, plan::heldPart(to)};
  }

  /// What every instance holds is stored by the first.
  void emitStoreShared(const std::string &source, const plan::VarType &type, const std::string &buffer, bool transposed,
                       SourceLoc loc) {
    plan::Stmt &write = emit(Kind::StoreShared, loc);
    write.operands = {source};
    write.ref = {buffer, "", transposed, plan::heldPart(type)};
    write.firstInstance = placement.instances > 1 && write.ref.slice == plan::Division::Whole;
  }

  void syncAll(SourceLoc loc) { emit(plan::Sync{barrierOfAll(), totalThreads()}, loc); }
  /// After it all threads see what each has done to global memory.
  void syncMemory(SourceLoc loc) { emit(plan::Sync{barrierOfAll(), totalThreads(), true}, loc); }
  int barrierOfAll() const { return placement.hasNamedBarriers ? allConsumersBarrier : 0; }

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
    const bool sharesCols = op.axis == 1 && type.division == plan::Division::Cols;
    if ((sharesCols && isPlaced(op)) || (op.axis == 0 && type.division == plan::Division::Cols) ||
        (op.kind == ir::OpKind::Cumsum && placement.instances > 1))
      unsupported(op,
                  fmt::format("{} along {} that {}", op.kind == ir::OpKind::Cumsum ? "a running sum" : "a reduction",
                              op.axis == 1 ? "rows" : "columns",
                              placement.multipliesByWarps() || placement.layout.kind == plan::Layout::Mfma
                                  ? "warps share (fewer `warps` in a schedule leave them to one)"
                                  : "warpgroups share (`warpgroups = 1` in a schedule leaves them to one)"));
    const bool isWide = op.kind == ir::OpKind::Reduce && isPlaced(op) && type.elem == ElemType::F64;
    stmt.ref.buffer = scratchFor(type, op.axis, isWide ? 2 : 1);
    stmt.meets.id = barrierOfAll();
    stmt.meets.threads = totalThreads();
  }

  /// Whether the result depends on where in its row an element stands: instances count from their own first column.
  static bool isPlaced(const ir::Op &op) {
    return op.kind == ir::OpKind::Cumsum || op.reduce == ir::ReduceKind::ArgMax || op.reduce == ir::ReduceKind::ArgMin;
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
    const int64_t elements = std::max<int64_t>(slots * (axis == 0 ? type.cols / across : rowSlots), 8);
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

  // ---- products
  void lowerProduct(const ir::Op &dot) {
    for (size_t side : {0, 1})
      if (const ir::Value *factor = ir::factorOf(dot, side); isPacked(factor->type.elem) && !isRingOperand(dot, side))
        return unsupported(dot, "a product of packed elements that are computed");
    const ProductPlacement &product = placement.products.at(&dot);
    const bool accumulates = ir::addendOf(dot) != nullptr;
    for (size_t position : {0, 1})
      if ((position == 0 ? product.a : product.b).kind == Operand::Staged)
        stageOperand(dot, position);
    if (accumulates && !isDefined(dot.result()) && isOverwritten(*ir::addendOf(dot), dot))
      alias(dot.result(), use(ir::addendOf(dot)));
    const std::string dest = define(dot.result());
    if (accumulates)
      emitMove(dest, use(ir::addendOf(dot)), dot.loc);
    const plan::VarType type = typeOf(dot.result());
    if (type == product.made)
      return emitProduct(dot, dest, accumulates);
    // A part of what the instruction makes: one row, one column.
    const std::string made = temporary(dot.result(), "_made", product.made);
    emitProduct(dot, made, false);
    if (!accumulates)
      return emitSpread(dest, made, {}, dot.loc);
    const std::string part = temporary(dot.result(), "_part", type);
    emitSpread(part, made, {}, dot.loc);
    plan::Stmt &sum = emit(Kind::Compute, dot.loc);
    sum.op = ir::OpKind::Add;
    sum.dest = dest;
    sum.operands = {dest, part};
  }

  /// Whether the product may add to the variable of its addend: nothing needs that afterwards, by this name or by
  /// another.
  static bool isOverwritten(const ir::Value &addend, const ir::Op &dot) {
    return diesAt(&addend, dot) && !(addend.definingOp && isRenaming(*addend.definingOp));
  }

  bool isRingOperand(const ir::Op &dot, size_t side) const {
    const ProductPlacement &product = placement.products.at(&dot);
    return (side == 0 ? product.a : product.b).kind == Operand::Ring;
  }

  void emitProduct(const ir::Op &dot, const std::string &dest, bool accumulates) {
    const ProductPlacement &product = placement.products.at(&dot);
    const plan::Division division = product.made.division;
    const bool aShared = product.a.kind != Operand::Register;
    const std::string a = aShared ? "" : asFed(dot, 0);
    plan::Stmt &stmt = emit(Kind::Product, dot.loc);
    stmt.dest = dest;
    stmt.accumulate = accumulates;
    stmt.byThreads = product.byThreads;
    stmt.byWarps = product.byWarps;
    stmt.aShared = aShared;
    stmt.count = product.byWarps && aShared && !accumulates ? stepsAtATime(dot, product.made) : 0;
    if (aShared)
      stmt.aRef = refTo(product.a, division == plan::Division::Rows ? division : plan::Division::Whole);
    else
      stmt.operands = {a};
    stmt.ref = refTo(product.b, division == plan::Division::Cols ? division : plan::Division::Whole);
    if (ir::isScaled(dot)) {
      stmt.count = 0;
      stmt.scales = {refTo(product.scales[0], stmt.aRef.slice), refTo(product.scales[1], stmt.ref.slice)};
    }
  }

  /// Registers a thread that a tile takes.
  int64_t registersOf(const plan::VarType &type) const {
    if (type.kind != plan::VarType::Fragment)
      return 0;
    const int holders = type.division == plan::Division::Whole ? 1 : placement.instances;
    return type.rows * type.cols * std::max<int64_t>(byteWidth(type.elem), 4) / 4 / (type.layout.threads * holders);
  }

  /// How many steps of k a product that fills most registers, with what the loops around it carry, takes at a time: as
  /// the compiler loads all operands of one stretch ahead, these have to fit beside. 0: all.
  int stepsAtATime(const ir::Op &dot, const plan::VarType &made) const {
    int64_t registers = registersOf(made);
    for (const ir::Op *at = repeatingOp(dot.parent); at; at = repeatingOp(at->parent))
      if (at->kind == ir::OpKind::For)
        for (size_t i = 1; i < at->body().args.size(); ++i)
          registers += registersOf(typeOf(at->body().args[i].get()));
    // ptxas loads further ahead than Clang does.
    const int64_t mostOfThem = placement.maxRegistersPerThread * (placement.multipliesByWarps() ? 15 : 20) / 32;
    constexpr int64_t loadsAtATime = 24;
    if (registers < mostOfThem)
      return 0;
    const int byCols = made.division == plan::Division::Cols ? placement.instances : 1;
    const int byRows = made.division == plan::Division::Rows ? placement.instances : 1;
    const int64_t loads = made.rows / byRows / plan::slabRows(made.layout) + made.cols / byCols / 16;
    const ir::Type &factor = ir::factorOf(dot, 0)->type;
    const int64_t steps = plan::sharedBytes(factor.elem, factor.cols) / 32;
    for (const int count : {4, 2})
      if (steps % count == 0 && count * loads <= loadsAtATime)
        return steps > count ? count : 0;
    return steps % 2 == 0 && steps > 2 ? 2 : 0;
  }

  /// The variable that feeds a computed operand to the product: the value's, or one of whole slabs, of the operand's
  /// layout, with zeros where padding would be contracted.
  std::string asFed(const ir::Op &dot, size_t position) {
    const ProductPlacement &product = placement.products.at(&dot);
    const Operand &operand = position == 0 ? product.a : product.b;
    const plan::VarType home = typeOf(operand.value), &fed = position == 0 ? product.aFed : product.bFed;
    const bool alongCols = (position == 0) != (operand.transposed != operand.storesTransposed);
    const int64_t contracted = position == 0 ? ir::factorOf(dot, 0)->type.cols : ir::factorOf(dot, 1)->type.rows;
    const bool isPadded = contracted != (alongCols ? fed.cols : fed.rows);
    if (home == fed && !isPadded)
      return use(operand.value);
    const std::string dest = temporary(operand.value, operand.kind == Operand::Register ? "_operand" : "_fed", fed);
    emitSpread(dest, use(operand.value),
               {isPadded && !alongCols ? contracted : 0, isPadded && alongCols ? contracted : 0}, dot.loc);
    return dest;
  }

  void emitSpread(const std::string &dest, const std::string &source, std::pair<int64_t, int64_t> within,
                  SourceLoc loc) {
    plan::Stmt &stmt = emit(Kind::Spread, loc);
    stmt.dest = dest;
    stmt.operands = {source};
    std::tie(stmt.rowHi, stmt.colHi) = within;
  }

  /// A variable beside that of `value`; the same each time that the op is lowered.
  std::string temporary(const ir::Value *value, const std::string &what, const plan::VarType &type) {
    std::string &name = temporaries[{value, what}];
    if (name.empty())
      name = declare(use(value) + what, type);
    return name;
  }

  plan::BufferRef refTo(const Operand &operand, plan::Division slice) const {
    plan::BufferRef ref{operand.buffer, "", operand.transposed, slice};
    if (operand.kind != Operand::Ring)
      return ref;
    const RingPlacement &ring = *placement.findRing(placement.loadKeys.at(operand.value->definingOp));
    if (ring.stages > 1 || !placement.copiesItself)
      ref.cursor = ring.cursor();
    return ref;
  }

  void stageOperand(const ir::Op &dot, size_t position) {
    const ProductPlacement &product = placement.products.at(&dot);
    const Operand &operand = position == 0 ? product.a : product.b;
    if (!stagedNow.insert(operand.buffer).second)
      return;
    const std::string source = asFed(dot, position);
    emitStoreShared(source, position == 0 ? product.aFed : product.bFed, operand.buffer, operand.storesTransposed,
                    dot.loc);
  }

  // ---- stores
  void lowerStore(const ir::Op &store) {
    const ir::Value *value = store.operands().back();
    const plan::Layout &layout = typeOf(value).layout;
    const ElemType elem = function.findParam(store.view.tensor)->elem;
    const int group = groupElements(elem), run = plan::runOf(layout);
    const bool isHalf = 2 * run == group && layout.threadsPerRow > 1; // two neighbouring threads have one
    if (run % group != 0 && !isHalf)
      return unsupported(store,
                         fmt::format("a store of packed elements by threads with less than {} neighbours", group));
    lowerStore(store, converted(value, elem, store.loc), Kind::Store);
  }

  /// By the copy engine where it can, and for tensors that do not suit it by the threads.
  void lowerStore(const ir::Op &store, const std::string &source, Kind kind) {
    auto found = placement.stores.find(&store);
    if (found == placement.stores.end())
      return lowerDirectStore(store, source, kind);
    if (found->second.map.empty())
      return storeWhole(store, source, found->second);
    if (schedule.aligned)
      return storeInPieces(store, source, found->second);
    plan::Stmt branch;
    branch.kind = Kind::If;
    branch.loc = store.loc;
    branch.map = found->second.map;
    into(branch.body, [&] { storeInPieces(store, source, found->second); });
    into(branch.orElse, [&] { lowerDirectStore(store, source, kind); });
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
    stmt.view = viewOf(store);
    stmt.atomic = store.atomic;
    stmt.firstInstance =
        placement.instances > 1 && plan::heldPart(typeOf(store.operands().back())) == plan::Division::Whole;
  }

  std::vector<std::string> indexOperands(const ir::Op &op) const {
    std::vector<std::string> operands;
    for (size_t i = 0; i + 1 < op.operands().size(); ++i)
      operands.push_back(use(op.operand(i)));
    return operands;
  }

  void bulkWait(SourceLoc loc, int count) { emit(plan::BulkWait{count}, loc).one = true; }

  void syncInstance(SourceLoc loc) { emit(plan::Sync{instanceBarrier, placement.layout.threads}, loc); }

  /// Each warpgroup stages its share of some columns, and one of its threads hands them to the copy engine.
  void storeInPieces(const ir::Op &store, const std::string &source, const StorePlacement &placed) {
    const plan::VarType type = typeOf(store.operands().back());
    const plan::BufferRef ref{placed.buffer, pieceCursor(placed), false, type.division};
    // Other instances may still multiply out of this memory.
    if (!placement.findBuffer(placed.buffer)->aliasOf.empty() && placement.instances > 1)
      syncAll(store.loc);
    for (int64_t col = 0; col < type.cols; col += placed.pieceCols) {
      const bool all = type.division == plan::Division::Cols; // columns are counted within what an instance has
      const auto [colLo, colHi] = all ? std::pair<int64_t, int64_t>() : std::pair(col, col + placed.pieceCols);
      if (placed.isApart) {
        handOver(store, source, placed, ref, {colLo, colHi});
        continue;
      }
      bulkWait(store.loc, placed.stages - 1);
      syncInstance(store.loc);
      stagePiece(store, source, ref, {colLo, colHi});
      syncInstance(store.loc);
      plan::Stmt &copy = emit(Kind::CopyOut, store.loc);
      copy.one = true;
      copy.map = placed.map;
      copy.view = store.view;
      copy.operands = indexOperands(store);
      copy.ref = ref;
      copy.colLo = colLo;
      copy.colHi = colHi;
      copy.reducing = store.kind == ir::OpKind::Atomic;
      emit(plan::BulkCommit(), store.loc).one = true;
      if (!ref.cursor.empty())
        emit(plan::Advance{ref.cursor}, store.loc);
    }
  }

  void stagePiece(const ir::Op &store, const std::string &source, const plan::BufferRef &ref,
                  std::pair<int64_t, int64_t> cols) {
    plan::Stmt &write = emit(Kind::StoreShared, store.loc);
    write.operands = {source};
    write.ref = ref;
    std::tie(write.colLo, write.colHi) = cols;
    emit(plan::FenceProxy(), store.loc);
  }

  /// To the role that hands it to the copy engine.
  void handOver(const ir::Op &store, const std::string &source, const StorePlacement &placed,
                const plan::BufferRef &ref, std::pair<int64_t, int64_t> cols) {
    emit(plan::Wait{{placed.empty(), ref.cursor}, true}, store.loc);
    stagePiece(store, source, ref, cols);
    emit(plan::Arrive{.at = {placed.full(), ref.cursor}, .byWarps = true}, store.loc);
    emit(plan::Advance{ref.cursor}, store.loc);
  }

  /// One for all stores that share a staging buffer; none for a buffer of one stage that no other role knows of.
  std::string pieceCursor(const StorePlacement &placed) {
    if (placed.stages == 1 && !placed.isApart)
      return {};
    std::string &cursor = pieceCursors[placed.buffer];
    if (cursor.empty())
      cursor = declare(placed.cursor(), cursorType(placed.stages));
    return cursor;
  }

  /// All instances stage their shares, and all threads store rows of the whole tile.
  void storeWhole(const ir::Op &store, const std::string &source, const StorePlacement &placed) {
    syncBlock(store.loc);
    emitStoreShared(source, typeOf(store.operands().back()), placed.buffer, false, store.loc);
    syncBlock(store.loc);
    plan::Stmt &copy = emit(Kind::CopyOut, store.loc);
    copy.view = store.view;
    copy.operands = indexOperands(store);
    copy.ref = {placed.buffer, "", false, plan::Division::Whole};
  }

  void syncBlock(SourceLoc loc) { emit(plan::Sync{0, totalThreads()}, loc); }

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
    if (type.kind == plan::VarType::Scalar) {
      stmt.ref.buffer = scratchFor(plan::VarType{.rows = 1, .layout = placement.layout}, 1, 1);
      stmt.meets.id = barrierOfAll();
      stmt.meets.threads = totalThreads();
    }
    return whole;
  }

  /// stage -1: all.
  void lowerStage(const std::vector<ScheduledOp> &order, int stage) {
    stagedNow.clear();
    for (const ScheduledOp &item : order)
      if (stage < 0 || item.stage == stage)
        lower(*item.op);
  }

  const ir::Function &function;
  const Nest &nest;
  const Schedule &schedule;
  ir::OpSet needed;
  RowParts rowParts;
  MemoryOrder memoryOrder;
  CarriedVariables carried;
  std::optional<OwnCopies> copies; ///< of a role that fills the rings itself
  std::set<std::string> stagedNow; ///< staging buffers that were stored to in this pass over the body
  std::map<std::pair<const ir::Value *, std::string>, std::string, ir::InOrder> temporaries;
  std::map<std::string, std::string> pieceCursors; ///< by staging buffer of stores
  ConsumerResult result;
};

} // namespace

ConsumerResult lowerConsumer(const ir::Function &function, const Nest &nest, const Placement &placement,
                             const Schedule &schedule, const SharedNames &shared) {
  return Lowering(function, nest, placement, schedule, shared).run();
}

} // namespace tkc::planner
