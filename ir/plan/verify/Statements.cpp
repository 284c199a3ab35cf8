// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each statement refers to: it exists, and fits.
#include "ir/plan/Turns.h"
#include "ir/plan/verify/Verify.h"
#include "support/Rounding.h"

#include <algorithm>
#include <bit>
#include <fmt/core.h>

namespace tkc::plan {
namespace {

bool isTile(const VarType &type) {
  return type.kind == VarType::Fragment || type.kind == VarType::Column || type.kind == VarType::Row;
}

bool isWholeNumber(const VarType &type) { return type.kind == VarType::Scalar && isInteger(type.elem); }

class Statements {
public:
  Statements(const Plan &plan, const Role &role, const Budget &budget, Report &report)
      : plan(plan), role(role), budget(budget), report(report) {}

  void check(const Stmt &stmt) {
    at = &stmt;
    for (const std::string &operand : stmt.operands)
      if (!typeOf(operand))
        complain("no variable `{}` in role `{}`", operand, role.name);
    destination(stmt);
    operandCount(stmt);
    if (failed)
      return;
    elected(stmt);
    kind(stmt);
  }

private:
  template <class... Args> void complain(fmt::format_string<Args...> text, Args &&...args) {
    report.add(at->loc, fmt::format("`{}`: ", print(*at)) + fmt::format(text, std::forward<Args>(args)...));
    failed = true;
  }

  std::optional<VarType> typeOf(const std::string &name) const { return plan::typeOf(plan, role, name); }
  bool isBool(const VarType &type) const { return type.kind == VarType::Scalar && type.elem == ElemType::Bool; }
  bool isWhole(const std::string &name) const { return isWholeNumber(*typeOf(name)); }

  void destination(const Stmt &stmt) {
    if (stmt.dest.empty()) {
      if (stmt.kind == StmtKind::Compute || stmt.kind == StmtKind::Move || stmt.kind == StmtKind::Spread ||
          stmt.kind == StmtKind::Load || stmt.kind == StmtKind::LoadShared || stmt.kind == StmtKind::LoadTensor ||
          stmt.kind == StmtKind::LookUp || stmt.kind == StmtKind::Fetch ||
          (stmt.kind == StmtKind::Product && !stmt.isTensorProduct()) || stmt.kind == StmtKind::For ||
          stmt.kind == StmtKind::Ahead)
        complain("has no destination");
      return;
    }
    const Var *var = role.findVar(stmt.dest);
    if (!var)
      complain("role `{}` has no variable `{}` of its own", role.name, stmt.dest);
    else if (var->type.kind == VarType::Cursor)
      complain("`{}` is a cursor: only `advance` moves it", stmt.dest);
  }

  void operandCount(const Stmt &stmt) {
    size_t least = 0;
    for (const ir::ViewIndex &index : stmt.view.indices)
      if (index.kind == ir::ViewIndex::Element || index.kind == ir::ViewIndex::Tiled ||
          index.kind == ir::ViewIndex::Gather)
        least = std::max<size_t>(least, index.operand + 1);
    if (stmt.kind == StmtKind::Store || stmt.kind == StmtKind::Atomic || stmt.hasElse)
      ++least;
    if (stmt.kind == StmtKind::Move || stmt.kind == StmtKind::Spread || stmt.kind == StmtKind::StoreShared ||
        stmt.kind == StmtKind::Place || stmt.kind == StmtKind::StoreTensor || stmt.kind == StmtKind::ScaleTensor ||
        (stmt.kind == StmtKind::Product && !stmt.aShared) ||
        (stmt.kind == StmtKind::If && stmt.map.empty() && stmt.turn.empty()))
      least = 1;
    if (stmt.kind == StmtKind::For || stmt.kind == StmtKind::Ahead)
      least = 2;
    if (stmt.kind == StmtKind::Compute)
      least = computeOperands(stmt.op);
    if (stmt.kind == StmtKind::LookUp)
      least = stmt.hasElse ? 2 : 1;
    if (stmt.operands.size() < least)
      complain("takes {} operands and has {}", least, stmt.operands.size());
  }

  static size_t computeOperands(ir::OpKind op) {
    if (ir::isElementwiseBinary(op) || op == ir::OpKind::Shift)
      return 2;
    if (op == ir::OpKind::Select || op == ir::OpKind::Philox)
      return 3;
    if (op == ir::OpKind::Const || op == ir::OpKind::Dim || op == ir::OpKind::Param || op == ir::OpKind::Iota ||
        op == ir::OpKind::ExternCall)
      return 0;
    return 1;
  }

  /// One thread alone can do neither what its warp does together nor what a later statement of all relies on.
  void elected(const Stmt &stmt) {
    bool may = stmt.kind == StmtKind::Expect || stmt.kind == StmtKind::CopyIn || stmt.kind == StmtKind::CopyOut ||
               stmt.kind == StmtKind::BulkCommit || stmt.kind == StmtKind::BulkWait || stmt.kind == StmtKind::Arrive ||
               stmt.kind == StmtKind::Wait || stmt.kind == StmtKind::TensorFence || stmt.isTensorProduct() ||
               stmt.kind == StmtKind::Claim || (stmt.kind == StmtKind::ProductCommit && stmt.barrier());
    if (const auto *arrive = stmt.getIf<Arrive>())
      may = !arrive->byWarps;
    if (stmt.one && !may)
      complain("is for all threads of an instance, not for one");
    bool byEngine = (stmt.kind == StmtKind::CopyIn || stmt.kind == StmtKind::CopyOut) && !stmt.map.empty();
    bool must = stmt.kind == StmtKind::BulkCommit || stmt.kind == StmtKind::BulkWait || byEngine ||
                stmt.kind == StmtKind::Claim;
    if (must && !stmt.one)
      complain("is for `one` thread: each thread has bulk groups and arrivals of its own");
  }

  void kind(const Stmt &stmt) {
    switch (stmt.kind) {
    case StmtKind::Compute:
      if (stmt.count > 0)
        exponentials(stmt);
      if (stmt.tileSize > 0)
        share(stmt);
      if (!stmt.ref.buffer.empty() && upright(stmt.ref))
        named(stmt);
      return;
    case StmtKind::Move:
    case StmtKind::Stagger:
    case StmtKind::FenceProxy:
    case StmtKind::BulkCommit:
    case StmtKind::CopyCommit:
    case StmtKind::ProductFence:
    case StmtKind::TensorFence:
    case StmtKind::ClusterSync:
    case StmtKind::Record:
    case StmtKind::WaitForPrevious:
    case StmtKind::Each: // checkSerial
      return;
    case StmtKind::ProductCommit:
      if (!stmt.barrier())
        return;
      if (!stmt.one)
        complain("is for `one` thread: it arrives when that thread's products are over");
      return barrier(stmt);
    case StmtKind::LoadTensor:
    case StmtKind::StoreTensor:
    case StmtKind::ScaleTensor:
      return checkTensorStatement(plan, role, stmt, report);
    case StmtKind::Spread:
      return spread(stmt);
    case StmtKind::Atomic:
      once(stmt);
      [[fallthrough]];
    case StmtKind::Load:
    case StmtKind::Store:
      return tensor(stmt);
    case StmtKind::LoadShared:
      if (ref(stmt.ref))
        fits(*typeOf(stmt.dest), stmt.ref, stmt);
      return;
    case StmtKind::StoreShared:
      if (ref(stmt.ref))
        fits(*typeOf(stmt.operands[0]), stmt.ref, stmt);
      return;
    case StmtKind::LookUp:
      if (upright(stmt.ref))
        table(stmt, *plan.findBuffer(stmt.ref.buffer));
      return;
    case StmtKind::Fetch:
      tensor(stmt);
      if (!allOf(stmt.ref))
        return;
      return share(stmt, *typeOf(stmt.dest));
    case StmtKind::Place:
      upright(stmt.ref);
      if (failed)
        return;
      return share(stmt, *typeOf(stmt.operands[0]));
    case StmtKind::Sync:
      return named(stmt);
    case StmtKind::Expect:
      barrier(stmt);
      if (const int64_t bytes = stmt.as<Expect>().bytes; bytes < 0 || bytes >= 1 << 20 || bytes % 16 != 0)
        complain("{} bytes: a barrier counts up to 1048575, copies come in multiples of 16", bytes);
      return;
    case StmtKind::CopyIn:
    case StmtKind::CopyOut:
      return copy(stmt);
    case StmtKind::BulkWait:
      return inFlight(stmt.as<BulkWait>().left);
    case StmtKind::CopyWait:
      return inFlight(stmt.as<CopyWait>().left);
    case StmtKind::ProductWait:
      return inFlight(stmt.as<ProductWait>().left, 7);
    case StmtKind::Product:
      return product(stmt);
    case StmtKind::Wait:
      barrier(stmt);
      if (stmt.as<Wait>().at.cursor.empty())
        complain("needs a cursor, which knows the phase");
      return;
    case StmtKind::Claim:
      barrier(stmt);
      return response(stmt);
    case StmtKind::NextTile:
      return response(stmt);
    case StmtKind::Arrive:
      if (stmt.as<Arrive>().byWarps && stmt.as<Arrive>().inCluster)
        complain("warps arrive in their own block only");
      barrier(stmt);
      return;
    case StmtKind::Advance:
      if (stmt.as<Advance>().turns > 0)
        turns(stmt.as<Advance>().turns);
      return ring(stmt.as<Advance>().ring);
    case StmtKind::For:
    case StmtKind::Ahead:
      return loop(stmt);
    case StmtKind::If:
      if (!stmt.turn.empty())
        cursor(stmt.turn, fmt::format("role `{}`", role.name), role.instances);
      else if (!stmt.operands.empty() && !isBool(*typeOf(stmt.operands[0])))
        complain("the condition is {}, no bool", print(*typeOf(stmt.operands[0])));
      else if (!stmt.map.empty() && !plan.findMap(stmt.map))
        complain("no tensor map `{}`", stmt.map);
      else if (!stmt.map.empty() && plan.aligned)
        complain("`{}` always fits: the plan is for aligned tensors", stmt.map);
      return;
    }
  }

  /// Stages of whatever `cursor` counts, against the `stages` of what it is used on.
  void cursor(const std::string &name, const std::string &what, int stages) {
    if (name.empty()) {
      if (stages != 1)
        complain("`{}` has {} stages, and no cursor says which", what, stages);
      return;
    }
    const Var *var = role.findVar(name);
    if (!var || var->type.kind != VarType::Cursor)
      complain("no cursor `{}` in role `{}`", name, role.name);
    else if (var->type.rows != stages)
      complain("cursor `{}` counts {} stages, `{}` has {}", name, var->type.rows, what, stages);
  }

  bool ref(const BufferRef &ref) {
    const Buffer *buffer = plan.findBuffer(ref.buffer);
    if (!buffer)
      return complain("no buffer `{}`", ref.buffer), false;
    cursor(ref.cursor, ref.buffer, buffer->stages);
    if (buffer->instances > 1 && (buffer->instances != role.instances || ref.slice != Division::Whole))
      complain("buffer `{}` has a tile for each of {} instances, which use it whole", ref.buffer, buffer->instances);
    return true;
  }

  /// What all threads of a role, or the copy engine, fill together.
  bool allOf(const BufferRef &stage) {
    if (!ref(stage))
      return false;
    if (stage.slice != Division::Whole)
      complain("all of a stage is meant, and `.{}` is an instance's part of it", spelling(stage.slice));
    return !failed;
  }

  /// What is memory, and no tile that has an orientation.
  bool upright(const BufferRef &stage) {
    if (allOf(stage) && stage.transposed)
      complain("a stage is meant as it lies, not its transpose");
    return !failed;
  }

  void barrier(const Stmt &stmt) {
    const BarrierRef ref = stmt.barrier() ? *stmt.barrier() : BarrierRef();
    const Barrier *barrier = plan.findBarrier(ref.barrier);
    if (!barrier)
      complain("no barrier `{}`", ref.barrier);
    else
      cursor(ref.cursor, ref.barrier, barrier->stages);
  }

  void ring(const VarName &name) {
    const Var *var = role.findVar(name);
    if (!var || var->type.kind != VarType::Cursor)
      complain("no cursor `{}` in role `{}`", name, role.name);
  }

  void turns(int count) {
    if (count != role.instances)
      complain("{} take turns, and role `{}` has {} instances", count, role.name, role.instances);
  }

  void inFlight(int groups, int most = std::numeric_limits<int>::max()) {
    if (groups < 0 || groups > most)
      complain("{} groups in flight: 0..7 can be", groups);
  }

  const ir::Param *tensorOf(const Stmt &stmt) const {
    for (const ir::Param &param : plan.params)
      if (param.name == stmt.view.tensor && param.isTensor)
        return &param;
    return nullptr;
  }

  void tensor(const Stmt &stmt) {
    const ir::Param *param = tensorOf(stmt);
    if (!param)
      complain("no tensor parameter `{}`", stmt.view.tensor);
    else if (param->dims.size() != stmt.view.indices.size())
      complain("`{}` has {} dims, not {}", stmt.view.tensor, param->dims.size(), stmt.view.indices.size());
    else if (stmt.lastInCache && (stmt.view.hasGather() || isPacked(param->elem) || param->mode != ir::ParamMode::In))
      complain("`last_in_cache` is of rectangles of whole bytes that the kernel only reads");
    else if (stmt.own && stmt.view.hasGather())
      complain("a gather is for all threads that hold it");
  }

  /// Where tiles are divided by rows, every instance holds all of a row, where by columns all of a column.
  void once(const Stmt &stmt) {
    const VarType type = *typeOf(stmt.operands.back());
    if (role.instances > 1 && !stmt.firstInstance && type.division != Division::Whole &&
        heldPart(type) == Division::Whole)
      complain("each of {} instances would do it, with all of `{}`", role.instances, stmt.operands.back());
  }

  /// A tile in registers against the stage, or the columns of it, that holds it.
  void fits(const VarType &type, const BufferRef &ref, const Stmt &stmt) {
    const Buffer &buffer = *plan.findBuffer(ref.buffer);
    int64_t rows = ref.transposed ? buffer.cols : buffer.rows, cols = ref.transposed ? buffer.rows : buffer.cols;
    if (stmt.share == Division::Cols)
      cols /= plan.cluster;
    int64_t tileCols = stmt.colLo == 0 && stmt.colHi == 0 ? type.cols : stmt.colHi - stmt.colLo;
    const bool rowsFit = type.rows == rows || padsRows(type, rows, stmt) ||
                         (type.rows < rows && heldPart(type) != Division::Rows && isForThreadsOnly(buffer));
    const bool isCopied = type.layout.aligned && cols == tileCols + alignedChunk(type.elem);
    const bool colsFit = tileCols == cols || isCopied ||
                         (tileCols < cols && heldPart(type) != Division::Cols && isForThreadsOnly(buffer));
    if (!isTile(type))
      complain("a tile is needed");
    else if (type.elem != buffer.elem)
      complain("a tile of {} and a buffer of {}", spelling(type.elem), spelling(buffer.elem));
    else if (!rowsFit || !colsFit || stmt.colLo < 0 || stmt.colHi > type.cols)
      complain("{}x{} of a tile of {}x{} do not fit a stage of {}x{}", type.rows, tileCols, type.rows, type.cols, rows,
               cols);
    else if (!wholePanels(ref, false))
      complain("an instance's columns of `{}` are no whole panels of swizzle {}", buffer.name,
               spelling(buffer.swizzle));
    else if (ref.slice != heldPart(type))
      complain("the tile is divided by {}, the stage by {}", spelling(heldPart(type)), spelling(ref.slice));
    else if (stmt.firstInstance && ref.slice != Division::Whole)
      complain("the first instance holds no more than its part");
  }

  /// A row of which every thread may read any element.
  void table(const Stmt &stmt, const Buffer &buffer) {
    const auto cols = static_cast<uint64_t>(buffer.cols);
    if (buffer.rows != 1 || !std::has_single_bit(cols) || buffer.swizzle != Swizzle::None || isPacked(buffer.elem))
      complain("a table is a row without a swizzle, of a power of two elements of whole bytes, and `{}` is {}[{}x{}] "
               "with swizzle {}",
               buffer.name, spelling(buffer.elem), buffer.rows, buffer.cols, spelling(buffer.swizzle));
    else if (stmt.count < 1 || stmt.count > buffer.cols)
      complain("a table of {} elements, and a stage of `{}` has {}", stmt.count, buffer.name, buffer.cols);
    else if (typeOf(stmt.dest)->elem != buffer.elem)
      complain("a tile of {} and a buffer of {}", spelling(typeOf(stmt.dest)->elem), spelling(buffer.elem));
  }

  /// What neither the copy nor the matrix engine touches may be larger than a tile in it: nothing reads the padding.
  bool isForThreadsOnly(const Buffer &buffer) const {
    bool only = true;
    for (const Role &each : plan.roles)
      for (const Body *body : {&each.body, &each.finish})
        walk(*body, [&](const Stmt &stmt) {
          const std::vector<BufferRef> operands = operandRefs(stmt);
          const bool uses = stmt.ref.buffer == buffer.name ||
                            std::any_of(operands.begin(), operands.end(),
                                        [&](const BufferRef &operand) { return operand.buffer == buffer.name; });
          only &= !uses || stmt.kind == StmtKind::StoreShared || stmt.kind == StmtKind::LoadShared ||
                  stmt.kind == StmtKind::LookUp;
        });
    return only;
  }

  /// A store leaves out the rows that only fill up the last instruction of a whole tile.
  static bool padsRows(const VarType &type, int64_t rows, const Stmt &stmt) {
    return stmt.kind == StmtKind::StoreShared && type.kind == VarType::Fragment && type.division == Division::Whole &&
           rows % 16 == 0 && rows < type.rows;
  }

  /// Which shapes and layouts the runtime turns into which.
  void spread(const Stmt &stmt) {
    const VarType from = *typeOf(stmt.operands[0]), to = *typeOf(stmt.dest);
    const bool liesRight = from.layout.kind == Layout::Mma || from.layout.kind == Layout::WarpMma ||
                           from.layout.kind == Layout::Tensor || from.layout.kind == Layout::Mfma;
    const bool makesTile = isTile(from) && to.kind == VarType::Fragment && to.layout.kind != Layout::Rows;
    const bool takesColumn = to.kind == VarType::Column && to.rows == from.rows && to.layout == from.layout;
    const bool takesCols = to.cols == from.cols || (to.cols < from.cols && from.division != Division::Cols);
    const bool takesRow = to.kind == VarType::Row && takesCols && to.layout == from.layout;
    const bool takesPart = from.kind == VarType::Fragment && (takesColumn || takesRow || to.kind == VarType::Scalar);
    if (from.elem != to.elem)
      complain("from {} to {} without a cast", spelling(from.elem), spelling(to.elem));
    else if (!liesRight || (!makesTile && !takesPart))
      complain("{} cannot be made of {}", print(to), print(from));
    else if (makesTile && to.layout.kind == Layout::Operand && bitWidth(to.elem) == 16)
      complain("operands of 16 bits lie like accumulators");
    else if (!sharesPart(from, to))
      complain("an instance lacks a part of {} for {}", print(from), print(to));
    else if (!makesTile && stmt.rowHi + stmt.colHi > 0)
      complain("only a tile is cut to {} by {}", stmt.rowHi, stmt.colHi);
  }

  /// Whether each instance holds what its part of `to` is made of. Rows are whole unless columns are divided, columns
  /// unless rows are.
  static bool sharesPart(const VarType &from, const VarType &to) {
    const bool fromCols = from.division == Division::Cols;
    if (from.kind == VarType::Row || to.kind == VarType::Row)
      return fromCols == (to.division == Division::Cols);
    if (from.kind == VarType::Column)
      return (from.division == Division::Rows) == (to.division == Division::Rows);
    if (to.kind != VarType::Fragment)
      return !fromCols;
    const bool isAsLong = from.division == Division::Whole || (fromCols ? from.cols == to.cols : from.rows == to.rows);
    return from.division == to.division && isAsLong;
  }

  /// Threads apply a swizzle from the start of a panel on; the matrix engine, to addresses, takes an even part as well.
  bool wholePanels(const BufferRef &ref, bool evenParts) const {
    if (ref.slice != (ref.transposed ? Division::Rows : Division::Cols))
      return true;
    const Buffer &buffer = *plan.findBuffer(ref.buffer);
    int64_t span = bytes(buffer.swizzle), share = sharedBytes(buffer.elem, buffer.cols / role.instances);
    return span == 0 || share % span == 0 || (evenParts && span % share == 0);
  }

  /// Where the instance's rows of a tile begin or end.
  void share(const Stmt &stmt) {
    if (typeOf(stmt.operands[0])->rows != stmt.tileSize * role.instances)
      complain("instances have {} rows each of a tile of {}", stmt.tileSize, typeOf(stmt.operands[0])->rows);
  }

  /// What a polynomial of multiply-adds gives (tk/exp2_fma.h); one of degree 3 is for narrow types only.
  void exponentials(const Stmt &stmt) {
    const VarType type = *typeOf(stmt.dest);
    if (stmt.op != ir::OpKind::Exp2 || type.kind != VarType::Fragment || type.elem != ElemType::F32)
      return complain("only exp2 of a fragment of f32 can be shared with multiply-adds");
    if (stmt.count > 16 || (stmt.degree != 3 && stmt.degree != 5))
      return complain("at most 16 of 16 elements, by polynomials of degree 3 or 5");
    if (stmt.degree == 3 && !isOnlyNarrowed(role.body, stmt.dest))
      complain("a polynomial of degree 3 is for results that are only cast to floats of at most 11 bits of precision");
  }

  bool isOnlyNarrowed(const Body &body, const std::string &var) const {
    const auto narrows = [&](const Stmt &stmt) {
      const bool isCast = stmt.kind == StmtKind::Compute && stmt.op == ir::OpKind::Cast;
      return isCast && isFloat(typeOf(stmt.dest)->elem) && unitRoundoff(typeOf(stmt.dest)->elem) >= 0x1p-12;
    };
    return std::all_of(body.begin(), body.end(), [&](const Stmt &stmt) {
      const bool reads = std::count(stmt.operands.begin(), stmt.operands.end(), var) != 0;
      return (!reads || narrows(stmt)) && isOnlyNarrowed(stmt.prologue, var) && isOnlyNarrowed(stmt.body, var) &&
             isOnlyNarrowed(stmt.epilogue, var) && isOnlyNarrowed(stmt.orElse, var);
    });
  }

  void named(const Stmt &stmt) {
    const int threads = namedBarrier(stmt)->threads, all = threadsOf(role), each = role.warps * role.lanes;
    if (threads != all && threads != each)
      complain("{} threads: role `{}` has {}, an instance {}", threads, role.name, all, each);
  }

  /// Whether boxes that fill a stage of one fill one of the other.
  static bool areAlike(const Buffer &a, const Buffer &b) {
    return a.elem == b.elem && a.rows == b.rows && a.cols == b.cols && a.swizzle == b.swizzle;
  }

  /// Rows as they lie in the buffer, from 16 bytes to 16 bytes.
  void writtenByThreads(const Stmt &stmt) {
    const Buffer &buffer = *plan.findBuffer(stmt.ref.buffer);
    const int64_t cols = buffer.cols / (stmt.ref.slice == Division::Cols ? role.instances : 1);
    if (stmt.ref.transposed)
      complain("a stage is meant as it lies, not its transpose");
    else if (stmt.reducing)
      complain("the copy engine adds, threads do not");
    else if (isPacked(buffer.elem) || cols * byteWidth(buffer.elem) % 16 != 0)
      complain("threads write rows of multiples of 16 bytes, and these have {} elements of {}", cols,
               spelling(buffer.elem));
  }

  void copy(const Stmt &stmt) {
    tensor(stmt);
    if (stmt.kind == StmtKind::CopyIn ? !allOf(stmt.ref) : !ref(stmt.ref))
      return;
    if (stmt.one && stmt.map.empty() && (stmt.kind == StmtKind::CopyOut || stmt.isThreadCopy()))
      return complain("is for all threads of the role, not for one");
    if (stmt.kind == StmtKind::CopyIn && !stmt.isThreadCopy())
      barrier(stmt);
    if (stmt.map.empty())
      return stmt.kind == StmtKind::CopyOut ? writtenByThreads(stmt) : void();
    const TensorMap *map = plan.findMap(stmt.map);
    if (!map)
      return complain("no tensor map `{}`", stmt.map);
    if (map->tensor != stmt.view.tensor || !areAlike(*plan.findBuffer(map->buffer), *plan.findBuffer(stmt.ref.buffer)))
      return complain("tensor map `{}` is of `{}` for buffer `{}`", stmt.map, map->tensor, map->buffer);
    if (stmt.reducing && plan.findBuffer(map->buffer)->elem != ElemType::F32)
      complain("the copy engine's addition is used for f32 only");
    int64_t cols = plan.findBuffer(map->buffer)->cols;
    if (stmt.ref.slice == Division::Cols && cols % (map->boxCols * role.instances) != 0)
      complain("boxes of {} columns do not fill the {} columns of an instance", map->boxCols, cols / role.instances);
    int64_t rows = plan.findBuffer(map->buffer)->rows;
    int64_t share = stmt.multicast == Division::Rows && !stmt.toFirst ? rows / plan.blocksAlong(stmt.along) : rows;
    if (stmt.kind == StmtKind::CopyIn && map->boxRows != share)
      return complain("copies {} rows by boxes of {}", share, map->boxRows);
    bool divided = stmt.ref.slice == Division::Rows && !stmt.ref.transposed;
    if (divided && rows % (map->boxRows * role.instances) != 0)
      complain("boxes of {} rows do not fill the {} rows of an instance", map->boxRows, rows / role.instances);
  }

  /// PTX ISA, "clusterlaunchcontrol.try_cancel": an answer of 16 bytes.
  void response(const Stmt &stmt) {
    if (upright(stmt.ref) && plan.findBuffer(stmt.ref.buffer)->stageBytes() != 16)
      complain("an answer has 16 bytes, a stage of `{}` {}", stmt.ref.buffer,
               plan.findBuffer(stmt.ref.buffer)->stageBytes());
  }

  /// What the threads of a role copy of a stage: all of it, in 16 bytes a thread at a time, or, of block scales, one.
  void share(const Stmt &stmt, const VarType &type) {
    const Buffer &buffer = *plan.findBuffer(stmt.ref.buffer);
    if (type.kind != VarType::Share || type.elem != buffer.elem || type.rows != buffer.rows ||
        type.cols != buffer.cols || type.layout.kind != Layout::Rows)
      complain("{} is no share of a stage of {}[{}x{}]", print(type), spelling(buffer.elem), buffer.rows, buffer.cols);
    else if (type.layout.threads != threadsOf(role))
      complain("a share of {} threads, role `{}` has {}", type.layout.threads, role.name, threadsOf(role));
    else if (const int64_t bytes = sharedBytes(type.elem, type.layout.vec);
             bytes != 16 && (bytes != 1 || buffer.swizzle != Swizzle::None))
      complain("{} elements of {} at a time: threads copy 16 bytes, of scales one", type.layout.vec,
               spelling(type.elem));
  }

  void product(const Stmt &stmt) {
    if (stmt.isTensorProduct()) {
      const bool hasScales = std::all_of(stmt.scales.begin(), stmt.scales.end(), [&](const BufferRef &scales) {
        return plan.findTensor(scales.buffer) != nullptr || ref(scales);
      });
      if (hasScales && ref(stmt.ref) && (plan.findTensor(stmt.aRef.buffer) || ref(stmt.aRef)))
        checkTensorStatement(plan, role, stmt, report);
      return;
    }
    if (!ref(stmt.ref) || (stmt.aShared && !ref(stmt.aRef)))
      return;
    if (!std::all_of(stmt.scales.begin(), stmt.scales.end(), [&](const BufferRef &scales) { return ref(scales); }))
      return;
    auto shape = [&](const BufferRef &ref) {
      const Buffer &buffer = *plan.findBuffer(ref.buffer);
      return ref.transposed ? std::pair(buffer.cols, buffer.rows) : std::pair(buffer.rows, buffer.cols);
    };
    for (const BufferRef *factor : {&stmt.aRef, &stmt.ref})
      if (!factor->buffer.empty() && !wholePanels(*factor, !stmt.byThreads))
        return complain("an instance's columns of `{}` straddle panels of swizzle {}", factor->buffer,
                        spelling(plan.findBuffer(factor->buffer)->swizzle));
    VarType dest = *typeOf(stmt.dest);
    std::pair<int64_t, int64_t> a, b = shape(stmt.ref);
    ElemType aElem, bElem = plan.findBuffer(stmt.ref.buffer)->elem;
    if (stmt.aShared) {
      a = shape(stmt.aRef), aElem = plan.findBuffer(stmt.aRef.buffer)->elem;
    } else {
      VarType type = *typeOf(stmt.operands[0]);
      a = {type.rows, type.cols}, aElem = type.elem;
    }
    if (a.second != b.first || dest.rows != a.first || dest.cols != b.second)
      return complain("{}x{} · {}x{} does not make {}x{}", a.first, a.second, b.first, b.second, dest.rows, dest.cols);
    if (!canMultiply(stmt, aElem, bElem))
      return complain("{} times {}", spelling(aElem), spelling(bElem));
    if (stmt.scales.empty() && (isFloat6(aElem) || isFloat6(bElem)))
      return complain("elements of six bits are multiplied with scales");
    if (!stmt.scales.empty() && !checkScales(plan, stmt, aElem, a, b, report))
      return;
    if (stmt.byWarps && dest.layout.kind == Layout::Mfma)
      waveInstruction(stmt, dest, a.second, aElem);
    else if (stmt.byWarps)
      warpInstruction(stmt, dest, a.second, aElem);
    else if (!stmt.byThreads)
      instruction(stmt, dest, a.second, aElem);
    if (!stmt.byThreads && !stmt.aShared)
      registerOperand(stmt, *typeOf(stmt.operands[0]), dest);
  }

  /// PTX ISA, "mma": 16 rows a warp, N in steps of 8, K of 32 bytes; PTX ISA, "ldmatrix": only 16-bit elements are
  /// transposed.
  void warpInstruction(const Stmt &stmt, const VarType &dest, int64_t k, ElemType elem) {
    int64_t rows = dest.division == Division::Rows ? dest.rows / role.instances : dest.rows;
    int64_t cols = dest.division == Division::Cols ? dest.cols / role.instances : dest.cols;
    if (dest.kind != VarType::Fragment || dest.layout.kind != Layout::WarpMma || dest.layout.threads != 32 * role.warps)
      return complain("`{}` is no accumulator of {} warps", stmt.dest, role.warps);
    if (rows % instructionRows(dest.layout) != 0 || cols % 8 != 0)
      complain("an instance's {}x{}: its {} warps take multiples of {} rows, and columns in steps of 8", rows, cols,
               role.warps, instructionRows(dest.layout));
    contraction(stmt, k, elem, "mma");
  }

  /// "AMD Instinct MI300 Instruction Set Architecture", "Matrix Arithmetic Instructions": 16×16 or 32×32, f64 16×16
  /// only, and its result in single elements; lanes read k in runs of 8 bytes or more.
  void waveInstruction(const Stmt &stmt, const VarType &dest, int64_t k, ElemType elem) {
    int64_t rows = dest.division == Division::Rows ? dest.rows / role.instances : dest.rows;
    int64_t cols = dest.division == Division::Cols ? dest.cols / role.instances : dest.cols;
    const int side = blockSide(dest.layout), run = elem == ElemType::F64 ? 1 : 4;
    if (dest.kind != VarType::Fragment || dest.layout.threads != role.lanes * role.warps ||
        (side != 16 && (side != 32 || elem == ElemType::F64)) || dest.layout.vec != run)
      return complain("`{}` is no accumulator of {} waves for {}", stmt.dest, role.warps, spelling(elem));
    if (rows % instructionRows(dest.layout) != 0 || cols % side != 0)
      complain("an instance's {}x{}: its {} waves take multiples of {} rows, and columns in steps of {}", rows, cols,
               role.warps, instructionRows(dest.layout), side);
    contraction(stmt, k, elem, "mfma");
    if (!stmt.scales.empty() && k % (32 * 64 / side) != 0)
      complain("contracts {} elements with scales: mfma takes {} at a time", k, 32 * 64 / side);
  }

  void contraction(const Stmt &stmt, int64_t k, ElemType elem, std::string_view name) {
    if (sharedBytes(elem, k) % 32 != 0)
      complain("contracts {} elements of {}: {} takes 32 bytes at a time", k, spelling(elem), name);
    // Only types that are transposed as they are read may lie with the other axis contiguous.
    const bool transposes = bitWidth(elem) == 16 || (bitWidth(elem) == 8 && budget.transposesBytes);
    if (!transposes && (!stmt.ref.transposed || (stmt.aShared && stmt.aRef.transposed)))
      complain("{} operands need the contracted axis contiguous", spelling(elem));
  }

  /// PTX ISA, "wgmma.mma_async": 64 rows a warpgroup, N in steps of 8 up to 256, K of 32 bytes.
  void instruction(const Stmt &stmt, const VarType &dest, int64_t k, ElemType elem) {
    int64_t rows = dest.division == Division::Rows ? dest.rows / role.instances : dest.rows;
    int64_t cols = dest.division == Division::Cols ? dest.cols / role.instances : dest.cols;
    if (dest.kind != VarType::Fragment || dest.layout.kind != Layout::Mma)
      return complain("`{}` is no accumulator", stmt.dest);
    if (rows % 64 != 0 || cols % 8 != 0 || cols > 256)
      complain("an instance's {}x{}: wgmma takes multiples of 64 rows, and columns in steps of 8 up to 256", rows,
               cols);
    contraction(stmt, k, elem, "wgmma");
  }

  void registerOperand(const Stmt &stmt, const VarType &type, const VarType &dest) {
    const Layout::Kind wanted = bitWidth(type.elem) == 16 ? dest.layout.kind : Layout::Operand;
    if (type.kind != VarType::Fragment || type.layout.kind != wanted)
      complain("`{}` is {}, and a register operand of {} is a fragment in layout `{}`", stmt.operands[0], print(type),
               spelling(type.elem), wanted == Layout::Operand ? "operand" : print(dest.layout));
    else if (type.division != dest.division)
      complain("the operand is divided by {}, the result by {}", spelling(type.division), spelling(dest.division));
  }

  /// A loop, or one tile of a loop's range.
  void loop(const Stmt &stmt) {
    VarType type = *typeOf(stmt.dest);
    if (stmt.kind == StmtKind::For && stmt.operands.size() > 2 && !isWhole(stmt.operands[2]))
      return complain("`{}` is no whole number", stmt.operands[2]);
    if (stmt.kind == StmtKind::Ahead && stmt.operands.size() > 2 && *typeOf(stmt.operands[2]) != type)
      return complain("`{}` is {}, `{}` is {}", stmt.operands[2], print(*typeOf(stmt.operands[2])), stmt.dest,
                      print(type));
    if (!isWhole(stmt.operands[0]) || !isWhole(stmt.operands[1]))
      complain("bounds are whole numbers");
    if (isInTurns(stmt) && (stmt.tileSize == 0 || stmt.operands.size() > 2))
      complain("only the tiles of one loop are taken in turns");
    if (isInTurns(stmt))
      turns(stmt.turns);
    bool overTiles = stmt.tileSize > 0;
    if (type.kind != (overTiles ? VarType::TileIndex : VarType::Scalar) || (overTiles && type.rows != stmt.tileSize))
      complain("`{}` is {}", stmt.dest, print(type));
  }

  const Plan &plan;
  const Role &role;
  const Budget &budget;
  Report &report;
  const Stmt *at = nullptr;
  bool failed = false;
};

/// Nothing may be read or written before the kernel that writes or reads it is known to have ended. The prelude comes
/// before all roles, so a wait there is before all that they do.
void checkWaitForPrevious(const Plan &plan, Report &report) {
  for (const Role &role : plan.roles)
    for (const Body *body : {&role.body, &role.finish})
      walk(*body, [&](const Stmt &stmt) {
        if (stmt.kind == StmtKind::WaitForPrevious)
          report.add(stmt.loc,
                     fmt::format("`{}` stands in the prelude, before any role touches memory; role `{}` has it",
                                 print(stmt), role.name));
      });
  const Stmt *read = nullptr;
  for (const Stmt &stmt : plan.prelude) {
    if (stmt.kind == StmtKind::Load && !read)
      read = &stmt;
    if (stmt.kind == StmtKind::WaitForPrevious && read)
      report.add(read->loc, fmt::format("`{}` reads what the kernel before may still write: `{}` comes after it",
                                        print(*read), print(stmt)));
  }
}

/// What threads copy they tell by the arrivals of the `expect` that stands before a run of copies: one of all of them,
/// at the barrier where the copies complete.
void checkThreadCopies(const Body &body, Report &report) {
  const Stmt *expect = nullptr;
  for (const Stmt &stmt : body) {
    for (const Body *inner : stmt.bodies())
      checkThreadCopies(*inner, report);
    if (stmt.kind != StmtKind::CopyIn)
      expect = stmt.kind == StmtKind::Expect ? &stmt : nullptr;
    else if (stmt.map.empty() && !stmt.isThreadCopy() &&
             (!expect || expect->one || expect->as<Expect>().at != stmt.completes ||
              expect->as<Expect>().toFirst != stmt.toFirst))
      report.add(stmt.loc, fmt::format("`{}`: threads copy it, and no `expect` of all of them, at that barrier, stands "
                                       "before the run of copies",
                                       print(stmt)));
  }
}

/// A loop that goes on in a pipeline stands just behind a loop of it, which ends where it begins and has no end of its
/// own.
void checkPipelines(const Body &body, Report &report) {
  for (size_t i = 0; i < body.size(); ++i) {
    const Stmt &stmt = body[i];
    for (const Body *inner : stmt.bodies())
      checkPipelines(*inner, report);
    if (stmt.kind != StmtKind::For || stmt.operands.size() < 3)
      continue;
    const Stmt *before = i > 0 && body[i - 1].kind == StmtKind::For ? &body[i - 1] : nullptr;
    const bool isOne = before && before->operands.size() > 1 && before->operands[1] == stmt.operands[0] &&
                       before->operands[before->operands.size() > 2 ? 2 : 0] == stmt.operands[2] &&
                       before->tileSize == stmt.tileSize && before->epilogue.empty() && before->orElse.empty();
    if (!isOne)
      report.add(stmt.loc, fmt::format("`{}`: before it stands no loop of a pipeline that began at `{}`, up to `{}`, "
                                       "without an end of its own",
                                       print(stmt), stmt.operands[2], stmt.operands[0]));
  }
}

} // namespace

void checkStatements(const Plan &plan, const Budget &budget, Report &report) {
  auto check = [&](const Role &role, const Body &body) {
    walk(body, [&](const Stmt &stmt) { Statements(plan, role, budget, report).check(stmt); });
    checkPipelines(body, report);
    checkThreadCopies(body, report);
  };
  for (const Role &role : plan.roles) {
    check(role, role.body);
    check(role, role.finish);
  }
  // The prelude and the bounds of ragged axes are scalar work on the prelude's variables.
  Role prelude;
  prelude.name = "prelude";
  prelude.vars = plan.preludeVars;
  auto scalarOnly = [&](const Body &body) {
    check(prelude, body);
    walk(body, [&](const Stmt &stmt) {
      const bool mayWait = stmt.kind == StmtKind::WaitForPrevious && &body == &plan.prelude;
      if (stmt.kind != StmtKind::Compute && stmt.kind != StmtKind::Move && stmt.kind != StmtKind::Load && !mayWait)
        report.add(stmt.loc, fmt::format("`{}`: the prelude computes scalars only", print(stmt)));
    });
  };
  scalarOnly(plan.prelude);
  checkWaitForPrevious(plan, report);
  for (const GridAxis &axis : plan.grid.axes) {
    scalarOnly(axis.bounds);
    for (const std::string &bound : {axis.lo, axis.hi})
      if (const Var *var = prelude.findVar(bound); !var || !isWholeNumber(var->type))
        report.add(plan.loc, fmt::format("axis `{}` of the grid is bounded by `{}`, no whole number of the prelude",
                                         axis.name, bound));
  }
}

} // namespace tkc::plan
