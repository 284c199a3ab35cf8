// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared memory and the copy engine.
//
// A run of Expect and CopyIn fills one stage. What the role's threads copy themselves comes first and is fenced; each
// thread then arrives for what it copied, one of them announces the engine's bytes and starts its copies.
#include "backends/emit/kernel/KernelPrinter.h"
#include "backends/emit/kernel/Views.h"
#include "ir/plan/Columns.h"

#include <algorithm>
#include <fmt/core.h>

namespace tkc::cuda {

using plan::Division;
using plan::Stmt;
using plan::StmtKind;
using plan::VarType;

bool asksEachLoad(const plan::Plan &plan) {
  std::set<std::string> tensors;
  for (const auto &[map, use] : mapUses(plan))
    if (use == MapUse::LoadsTile)
      tensors.insert(plan.findMap(map)->tensor);
  return !plan.aligned && tensors.size() > 1;
}

/// How many chunks of 16 bytes a thread with registers enough has on their way at once, where they go through
/// registers: a small product of unaligned tensors waits for memory as often as it asks anew.
static int deepCopies(int registers) {
  constexpr int least = 128, besides = 64, each = 6, most = 16;
  return registers < least ? 0 : std::min((registers - besides) / each, most);
}

cpp::Expr RolePrinter::stage(const plan::BufferRef &ref) const {
  const plan::Buffer *buffer = kernel.plan.findBuffer(ref.buffer);
  cpp::Expr tile = kernel.sharedBuffer(ref.buffer);
  if (buffer->stages > 1)
    tile = cpp::subscript(tile, ref.cursor.empty() ? cpp::integer(0)
                                                   : cpp::member(cpp::name(cppNames.at(ref.cursor)), "slot"));
  if (kernel.splitBuffers.count(ref.buffer))
    tile = cpp::subscript(tile, instance);
  return tile;
}

/// The part of a stage that the instance touches, as an operand of a product or of a copy to or from registers.
cpp::Expr RolePrinter::slice(const plan::BufferRef &ref) const {
  const plan::Buffer *buffer = kernel.plan.findBuffer(ref.buffer);
  cpp::Expr tile = stage(ref);
  const bool isVector = buffer->rows == 1 || buffer->cols == 1;
  if (isVector && !kernel.scaleBuffers.count(ref.buffer)) { // which has no orientation
    const bool runsAlongRows = (ref.slice == Division::Rows) != ref.transposed;
    if (!instance || ref.slice == Division::Whole || runsAlongRows != (buffer->cols == 1) ||
        kernel.splitBuffers.count(ref.buffer))
      return tile;
    const int64_t count = buffer->rows * buffer->cols / role.instances;
    return cpp::call(cpp::name(fmt::format("{}.part<{}>", cpp::print(tile), count)), {instance});
  }
  if (!instance || ref.slice == Division::Whole || kernel.splitBuffers.count(ref.buffer))
    return ref.transposed ? cpp::method(tile, "T") : tile;
  const bool alongRows = (ref.slice == Division::Rows) != ref.transposed;
  const int64_t count = (alongRows ? buffer->rows : storedCount(buffer->elem, buffer->cols)) / role.instances;
  cpp::Expr part = cpp::call(
      cpp::name(fmt::format("{}.{}_of<{}>", cpp::print(tile), alongRows ? "rows" : "cols", count)), {instance});
  return ref.transposed ? cpp::method(part, "T") : part;
}

/// Innermost first, as the copy engine takes them.
std::vector<cpp::Expr> RolePrinter::coordinates(const Stmt &stmt, bool withPart) {
  const plan::TensorMap *map = kernel.plan.findMap(stmt.map);
  const plan::Buffer *buffer = kernel.plan.findBuffer(stmt.ref.buffer);
  std::vector<cpp::Expr> list;
  for (size_t d = 0; d < stmt.view.indices.size(); ++d) {
    const ir::ViewIndex &index = stmt.view.indices[d];
    cpp::Expr at;
    if (index.kind == ir::ViewIndex::Tiled)
      at = cpp::member(value(stmt.operands[index.operand]), "begin");
    else if (index.kind == ir::ViewIndex::Element)
      at = value(stmt.operands[index.operand]);
    else
      at = cpp::integer(index.lo);
    if (static_cast<int>(d) == map->colDim)
      at = cpp::binary("+", at, cpp::integer(stmt.colLo));
    if (withPart && instance && stmt.ref.slice == Division::Rows && static_cast<int>(d) == map->rowDim)
      at = cpp::binary("+", at, cpp::binary("*", instance, cpp::integer(buffer->rows / role.instances)));
    if (withPart && instance && stmt.ref.slice == Division::Cols && static_cast<int>(d) == map->colDim)
      at = cpp::binary("+", at, cpp::binary("*", instance, cpp::integer(buffer->cols / role.instances)));
    if (static_cast<int>(d) == map->colDim && storedCount(buffer->elem, 2) == 1) // maps of pairs go by the byte
      at = cpp::binary("/", at, cpp::integer(2));
    list.insert(list.begin(), at);
  }
  return list;
}

cpp::Expr KernelContext::placeAlong(const std::string &axis) const {
  const plan::Grid &grid = plan.grid;
  const int along = plan.blocksAlong(grid.clusterAxis);
  const bool isAll = axis.empty() || grid.across == 1;
  return isAll ? cpp::name("rank")
               : cpp::binary(axis == grid.acrossAxis ? "/" : "%", cpp::name("rank"), cpp::integer(along));
}

cpp::Expr KernelContext::maskAlong(const std::string &axis) const {
  const plan::Grid &grid = plan.grid;
  if (axis.empty() || grid.across == 1)
    return cpp::integer((1 << plan.cluster) - 1);
  const cpp::Expr along = cpp::integer(plan.blocksAlong(grid.clusterAxis));
  return axis == grid.acrossAxis
             ? cpp::call(cpp::templated("tk::cluster_across", {along, cpp::integer(grid.across)}), {cpp::name("rank")})
             : cpp::call(cpp::templated("tk::cluster_along", {along}), {cpp::name("rank")});
}

/// Whether a copy brings one row for each column of a tile whose columns the launcher chose: as many as these.
bool RolePrinter::bringsColumns(const Stmt &copy) const {
  const plan::TensorMap *map = kernel.plan.findMap(copy.map);
  return map && plan::loadsColumnsAsRows(kernel.plan, copy);
}

/// Such rows that this block brings, or one of so many blocks.
cpp::Expr RolePrinter::broughtRows(const Stmt &copy) const {
  return cpp::method(kernel.columns(), "share", {cpp::integer(plan::blocksThatShareRows(kernel.plan, copy))});
}

/// Of copies to one stage, which are `most` where all tiles have the most columns.
cpp::Expr RolePrinter::bytesOfCopies(int64_t most, const std::vector<const Stmt *> &copies) const {
  cpp::Expr bytes;
  for (const Stmt *copy : copies)
    if (bringsColumns(*copy)) {
      const plan::Buffer *buffer = kernel.plan.findBuffer(copy->ref.buffer);
      most -= buffer->copiedBytes();
      const int64_t each = buffer->copiedBytes() / buffer->rows * plan::blocksThatShareRows(kernel.plan, *copy);
      const cpp::Expr brought = cpp::binary("*", broughtRows(*copy), cpp::integer(each));
      bytes = bytes ? cpp::binary("+", bytes, brought) : brought;
    }
  return !bytes ? cpp::integer(most) : most == 0 ? bytes : cpp::binary("+", cpp::integer(most), bytes);
}

/// This block's share of the stage, for the blocks of the cluster that have one alike.
cpp::Expr RolePrinter::multicastByEngine(const Stmt &stmt) {
  const plan::TensorMap *map = kernel.plan.findMap(stmt.map);
  const plan::Buffer *buffer = kernel.plan.findBuffer(stmt.ref.buffer);
  const bool byRows = stmt.multicast == Division::Rows;
  const int64_t count = (byRows ? buffer->rows : buffer->cols) / kernel.plan.blocksAlong(stmt.along);
  const cpp::Expr place = kernel.placeAlong(stmt.along);
  if (byRows && bringsColumns(stmt)) {
    const cpp::Expr first = cpp::binary("*", place, broughtRows(stmt));
    std::vector<cpp::Expr> args = {cpp::call("tk::rows_from", {stage(stmt.ref), first}), kernel.tensorMap(stmt.map),
                                   barrierRef(stmt), kernel.maskAlong(stmt.along)};
    std::vector<cpp::Expr> at = coordinates(stmt, false);
    cpp::Expr &row = at[at.size() - 1 - static_cast<size_t>(map->rowDim)];
    row = cpp::binary("+", row, first);
    args.insert(args.end(), at.begin(), at.end());
    return cpp::call("tk::tma_load_multicast", std::move(args));
  }
  const cpp::Expr share = cpp::call(
      cpp::name(fmt::format("{}.{}_of<{}>", cpp::print(stage(stmt.ref)), byRows ? "rows" : "cols", count)), {place});
  std::vector<cpp::Expr> args = {share, kernel.tensorMap(stmt.map), barrierRef(stmt), kernel.maskAlong(stmt.along)};
  std::vector<cpp::Expr> at = coordinates(stmt, false);
  const auto axis = at.size() - 1 - static_cast<size_t>(byRows ? map->rowDim : map->colDim);
  at[axis] = cpp::binary("+", at[axis], cpp::binary("*", place, cpp::integer(count)));
  args.insert(args.end(), at.begin(), at.end());
  return cpp::call("tk::tma_load_multicast", std::move(args));
}

/// To this block, all or its share; the bytes count in the pair's first block.
cpp::Expr RolePrinter::copyForPair(const Stmt &stmt) {
  const plan::TensorMap *map = kernel.plan.findMap(stmt.map);
  const plan::Buffer *buffer = kernel.plan.findBuffer(stmt.ref.buffer);
  std::vector<cpp::Expr> args = {stage(stmt.ref), kernel.tensorMap(stmt.map), barrierRef(stmt)};
  std::vector<cpp::Expr> at = coordinates(stmt, false);
  if (stmt.multicast != Division::Whole) {
    const bool byRows = stmt.multicast == Division::Rows;
    const auto axis = at.size() - 1 - static_cast<size_t>(byRows ? map->rowDim : map->colDim);
    at[axis] = cpp::binary("+", at[axis],
                           cpp::binary("*", cpp::name("rank"), cpp::integer(byRows ? buffer->rows : buffer->cols)));
  }
  args.insert(args.end(), at.begin(), at.end());
  return cpp::call("tk::tma_load_pair", std::move(args));
}

cpp::Expr RolePrinter::copyByEngine(const Stmt &stmt) {
  if (stmt.toFirst)
    return copyForPair(stmt);
  if (stmt.multicast != Division::Whole)
    return multicastByEngine(stmt);
  std::vector<cpp::Expr> args = {stage(stmt.ref), kernel.tensorMap(stmt.map), barrierRef(stmt)};
  for (cpp::Expr &at : coordinates(stmt, false))
    args.push_back(std::move(at));
  return cpp::call("tk::tma_load", std::move(args));
}

void RolePrinter::copyByThreads(const Stmt &stmt, cpp::Body &out, const cpp::Expr &onlyIf, bool isOneOfSeveral) {
  const plan::Buffer *buffer = kernel.plan.findBuffer(stmt.ref.buffer);
  const bool isVector = buffer->rows == 1;
  const auto add = [&](cpp::Stmt copy) {
    out.push_back(onlyIf ? cpp::Stmt::ifThen(onlyIf, {std::move(copy)}) : std::move(copy));
  };
  const int64_t rows = stmt.ref.transposed ? buffer->cols : buffer->rows;
  const int64_t cols = stmt.ref.transposed ? buffer->rows : buffer->cols;
  const bool isShare = stmt.toFirst && stmt.multicast != Division::Whole;
  const cpp::Expr own = instance;
  if (isShare) // of this block
    instance = cpp::name("rank");
  ViewParts parts = viewOf(stmt, rows, cols, false, isShare ? stmt.multicast : Division::Whole);
  instance = own;
  if (stmt.view.hasGather()) { // the columns of indices say where each thread's rows begin
    const auto index = std::find_if(stmt.view.indices.begin(), stmt.view.indices.end(),
                                    [](const ir::ViewIndex &each) { return each.kind == ir::ViewIndex::Gather; });
    cpp::Expr offsets, exists;
    const cpp::Expr base = gathered(stmt, typeOf(stmt.operands[index->operand]), offsets, exists);
    const cpp::Expr wide =
        suitsWide(parts) ? cpp::method(kernel.argument(stmt.view.tensor), "wide") : cpp::boolean(false);
    out.push_back(cpp::Stmt::expression(
        cpp::call("tk::copy_rows_by_index", {stage(stmt.ref), wide, base, offsets, exists, parts.cols.end})));
    return;
  }
  const cpp::Expr threads = cpp::integer(role.totalWarps() * role.lanes);
  if (isVector) {
    return add(cpp::Stmt::expression(
        cpp::call(cpp::templated("tk::copy_to_shared", {threads}),
                  {stage(stmt.ref), cpp::method(kernel.argument(stmt.view.tensor), "at", parts.origin), parts.cols.end,
                   threadInRole})));
  }
  std::vector<cpp::Expr> parameters = {threads};
  if (stmt.ref.transposed) {
    std::swap(parts.rows, parts.cols);
    parameters.push_back(cpp::boolean(true));
  }
  if (kernel.scaleBuffers.count(stmt.ref.buffer)) {
    return add(cpp::Stmt::expression(
        cpp::call(cpp::templated("tk::copy_scales", parameters), {stage(stmt.ref), viewExpr(parts), threadInRole})));
  }
  cpp::Expr from = viewExpr(parts);
  if (isPacked(parts.param->elem))
    from = cpp::call(isFloat6(parts.param->elem) ? "tk::packed_bytes" : "tk::pairs", {from});
  if (isFloat6(parts.param->elem)) {
    return add(cpp::Stmt::expression(
        cpp::call(cpp::templated("tk::copy_padded", parameters), {stage(stmt.ref), from, threadInRole})));
  }
  const bool isContiguous = !stmt.ref.transposed && parts.cols.dim + 1 == static_cast<int>(parts.param->dims.size());
  const std::string callee = isContiguous ? "tk::copy_rows_to_shared" : "tk::copy_to_shared";
  if (isContiguous && deepCopies(role.registers) > 0)
    parameters.push_back(cpp::integer(deepCopies(role.registers)));
  std::vector<cpp::Expr> args = {stage(stmt.ref), from, threadInRole};
  if (!isContiguous || !onlyIf || !isOneOfSeveral)
    return add(cpp::Stmt::expression(cpp::call(cpp::templated(callee, parameters), std::move(args))));
  args.push_back(onlyIf);
  out.push_back(cpp::Stmt::expression(cpp::call(cpp::templated(callee, parameters), std::move(args))));
}

/// Starts the engine's copy beside those of threads, if the tensor suits it. The thread arrives with the others.
cpp::Stmt RolePrinter::engineWhereFits(const Stmt &copy) {
  const cpp::Expr bytes = bytesOfCopies(kernel.plan.findBuffer(copy.ref.buffer)->copiedBytes(), {&copy});
  const cpp::Expr announce = copy.toFirst ? cpp::method(barrierRef(copy), "announce_bytes_at", {cpp::integer(0), bytes})
                                          : cpp::method(barrierRef(copy), "announce_bytes", {bytes});
  return cpp::Stmt::ifThen(cpp::binary("&&", kernel.fits(copy.map), leader),
                           {cpp::Stmt::expression(announce), cpp::Stmt::expression(copyByEngine(copy))});
}

/// What the engine would copy, by the role's threads; where there are several tensors, each that suits the engine by it
/// all the same.
void RolePrinter::copyAllByThreads(const std::vector<const Stmt *> &byThreads,
                                   const std::vector<const Stmt *> &byEngine, cpp::Body &out) {
  const bool asksEach = asksEachLoad(kernel.plan);
  if (asksEach)
    for (const Stmt *copy : byEngine)
      out.push_back(engineWhereFits(*copy));
  for (const Stmt *copy : byThreads)
    copyByThreads(*copy, out);
  for (const Stmt *copy : byEngine)
    copyByThreads(*copy, out, asksEach ? cpp::unary("!", kernel.fits(copy->map)) : cpp::Expr(), byEngine.size() > 1);
  out.push_back(cpp::Stmt::expression(cpp::call("tk::finish_copies")));
}

/// Vectors that may not suit the engine are copied by the threads; a role that leaves all to the engine, and a branch
/// that asks for it, run where they do.
bool RolePrinter::isByEngine(const Stmt &copy) const {
  const bool isVector = kernel.plan.findBuffer(copy.ref.buffer)->rows == 1;
  return !copy.map.empty() && !(isVector && copyMode == CopyMode::AtRunTime && !vectorsFit);
}

/// A share by each thread, asynchronously where the tensor's rows come in whole 16 bytes.
void RolePrinter::copyAsync(const Stmt &stmt, cpp::Body &out) {
  const plan::Buffer *buffer = kernel.plan.findBuffer(stmt.ref.buffer);
  const ViewParts parts = viewOf(stmt, buffer->rows, buffer->cols, false, Division::Whole);
  const bool byPairs = isPacked(buffer->elem) && !isFloat6(buffer->elem);
  if (stmt.ref.transposed || stmt.view.hasGather() || kernel.scaleBuffers.count(stmt.ref.buffer) ||
      !(byPairs ? parts.cols.dim >= 0 && parts.cols.align == 16 : suitsWide(parts)))
    return copyByThreads(stmt, out);
  const cpp::Expr threads = cpp::integer(static_cast<int64_t>(role.totalWarps()) * role.lanes);
  const cpp::Expr ofTensor = cpp::method(kernel.argument(stmt.view.tensor), "wide");
  std::vector<cpp::Expr> args = {stage(stmt.ref)};
  if (role.isAligned()) { // the tile whose columns are
    args.push_back(cpp::name(alignmentName));
    args.push_back(cpp::member(kernel.argument(stmt.view.tensor), "data"));
    args.push_back(viewExpr(parts, 16));
    args.push_back(threadInRole);
    out.push_back(
        cpp::Stmt::expression(cpp::call(cpp::templated("tk::copy_led_row_async", {threads}), std::move(args))));
    return;
  }
  if (stmt.loads == 0 && assumedWide)
    assumedWide->insert(stmt.view.tensor);
  if (stmt.loads == 0)
    args.push_back(assumedWide ? cpp::name("true") : ofTensor);
  else if (wide != Wide::Yes)
    args.push_back(wide == Wide::No ? cpp::boolean(false) : ofTensor);
  args.push_back(byPairs ? cpp::call("tk::pairs", {viewExpr(parts, 16)}) : viewExpr(parts, 16));
  args.push_back(threadInRole);
  const std::string callee = stmt.loads > 0      ? "tk::load_direct"
                             : buffer->rows == 1 ? "tk::copy_row_async"
                                                 : "tk::copy_async";
  out.push_back(cpp::Stmt::expression(cpp::call(cpp::templated(callee, {threads}), std::move(args))));
}

cpp::Expr RolePrinter::allLoadsAreWide() const {
  cpp::Expr all;
  std::set<std::string> seen;
  plan::walk(role.body, [&](const Stmt &each) {
    if (each.kind == StmtKind::CopyIn && each.loads > 0 && seen.insert(each.view.tensor).second) {
      const cpp::Expr wide = cpp::method(kernel.argument(each.view.tensor), "wide");
      all = all ? cpp::binary("&&", all, wide) : wide;
    }
  });
  return all;
}

/// Loads are counted where all tensors came by them: others were copied at once.
void RolePrinter::printWaitForLoads(const Stmt &stmt, cpp::Body &out) {
  const int left = stmt.as<plan::CopyWait>().left;
  const cpp::Expr callee = cpp::templated("tk::wait_loads", {cpp::integer(wide == Wide::No ? 0 : left)});
  const bool asks = left > 0 && wide == Wide::Asked;
  out.push_back(cpp::Stmt::expression(asks ? cpp::call(callee, {allLoadsAreWide()}) : cpp::call(callee)));
}

/// A share by each thread, to registers.
void RolePrinter::printFetch(const Stmt &stmt, cpp::Body &out) {
  const plan::Buffer *buffer = kernel.plan.findBuffer(stmt.ref.buffer);
  const bool transposes = stmt.ref.transposed;
  ViewParts parts = viewOf(stmt, transposes ? buffer->cols : buffer->rows, transposes ? buffer->rows : buffer->cols,
                           false, Division::Whole);
  const bool wide = !transposes && suitsWide(parts);
  if (transposes)
    std::swap(parts.rows, parts.cols);
  if (uses.declaresAt(stmt, stmt.dest))
    out.push_back(cpp::Stmt::declaration(typeText(stmt.dest), nameOf(stmt.dest)));
  const cpp::Expr share = cpp::name(nameOf(stmt.dest));
  if (isFloat6(buffer->elem)) {
    const cpp::Expr bytes = cpp::call("tk::packed_bytes", {viewExpr(parts)});
    out.push_back(cpp::Stmt::expression(cpp::method(share, "fetch", {bytes, threadInRole})));
    return;
  }
  if (isPacked(buffer->elem)) {
    out.push_back(cpp::Stmt::expression(cpp::call("tk::fetch_pairs", {share, viewExpr(parts), threadInRole})));
    return;
  }
  std::vector<cpp::Expr> args;
  if (wide)
    args.push_back(cpp::method(kernel.argument(stmt.view.tensor), "wide"));
  args.push_back(viewExpr(parts, wide ? 16 : 0));
  args.push_back(threadInRole);
  out.push_back(cpp::Stmt::expression(cpp::method(share, "fetch", std::move(args))));
}

void RolePrinter::printCopies(const plan::Body &body, size_t &i, cpp::Body &out) {
  const Stmt *expect = nullptr;
  std::vector<const Stmt *> byEngine, byThreads;
  size_t end = i;
  for (; end < body.size(); ++end) {
    const Stmt &stmt = body[end];
    if (stmt.kind == StmtKind::Expect && !expect)
      expect = &stmt;
    else if (stmt.kind == StmtKind::CopyIn && !stmt.isThreadCopy())
      (isByEngine(stmt) ? byEngine : byThreads).push_back(&stmt);
    else if (!(isPure(stmt) && uses.isInlined(stmt.dest)))
      break;
  }
  i = end - 1;
  const Stmt &barrier = expect ? *expect : byEngine.empty() ? *byThreads.front() : *byEngine.front();
  Stmt elected = barrier, copying = barrier;
  elected.one = copying.one = true;
  copying.inFirst = false;
  const bool isPaired = !byEngine.empty() && byEngine.front()->toFirst;
  const bool eachExpects = expect && expect->as<plan::Expect>().toFirst; // in each block of a pair
  const cpp::Stmt arrive =
      cpp::Stmt::expression(isPaired ? cpp::method(barrierRef(barrier), "arrive_written_at", {cpp::integer(0)})
                                     : cpp::method(barrierRef(barrier), "arrive"));
  const bool allArrive = expect && !singleThread && (!expect->one || plan::runsOnOneThread(role));
  int64_t engineBytes = expect ? expect->as<plan::Expect>().bytes : 0;
  for (const Stmt *copy : byThreads)
    if (!copy->map.empty())
      engineBytes -= kernel.plan.findBuffer(copy->ref.buffer)->copiedBytes();
  const auto engine = [&](cpp::Body &to) {
    for (const Stmt *copy : byThreads)
      copyByThreads(*copy, to);
    if (!byThreads.empty())
      to.push_back(cpp::Stmt::expression(cpp::call("tk::finish_copies")));
    if (byEngine.empty() && byThreads.empty() && engineBytes == 0) { // copies that stand before it
      const cpp::Expr arrives = plan::runsOnOneThread(role) || !kernel.asksLoadsFit()
                                    ? leader
                                    : cpp::binary("||", leader, cpp::unary("!", kernel.loadsFit()));
      to.push_back(cpp::Stmt::ifThen(arrives, {arrive}));
      return;
    }
    if (byEngine.empty() && byThreads.empty() && kernel.plan.grid.counted) // who asks for the tile arrives by itself
      return;
    if (byEngine.empty() && byThreads.empty()) // bytes of something else
      return emit(elected, to,
                  cpp::method(barrierRef(barrier), "expect_bytes", {cpp::integer(expect->as<plan::Expect>().bytes)}));
    if (byEngine.empty()) {
      if (expect)
        to.push_back(arrive);
      return;
    }
    if (eachExpects)
      emit(elected, to,
           cpp::method(barrierRef(barrier), "expect_bytes_at", {cpp::integer(0), cpp::integer(engineBytes)}));
    else if (expect)
      emit(elected, to, cpp::method(barrierRef(barrier), "expect_bytes", {bytesOfCopies(engineBytes, byEngine)}));
    for (const Stmt *copy : byEngine)
      emit(copying, to, copyByEngine(*copy));
    if (allArrive)
      to.back().orElse = {arrive};
  };
  const auto threads = [&](cpp::Body &to) {
    copyAllByThreads(byThreads, byEngine, to);
    if (expect)
      to.push_back(arrive);
  };
  if (copyMode == CopyMode::Engine || byEngine.empty() || !kernel.asksLoadsFit())
    return engine(out);
  if (copyMode == CopyMode::Threads)
    return threads(out);
  cpp::Body fast, slow;
  engine(fast);
  threads(slow);
  out.push_back(cpp::Stmt::ifThen(kernel.loadsFit(), std::move(fast), std::move(slow)));
}

/// Rows that lie by multiples of 16 bytes would have gone by the copy engine, if it writes the tensor.
bool RolePrinter::goesByEngine(const plan::BufferRef &ref, const std::string &tensor) const {
  const std::vector<plan::TensorMap> &maps = kernel.plan.maps;
  return std::any_of(maps.begin(), maps.end(),
                     [&](const plan::TensorMap &map) { return map.buffer == ref.buffer && map.tensor == tensor; });
}

void RolePrinter::copyOutByThreads(const Stmt &stmt, cpp::Body &out) {
  const plan::Buffer *buffer = kernel.plan.findBuffer(stmt.ref.buffer);
  const Division division = stmt.ref.slice;
  const bool isWhole = division == Division::Whole && !kernel.splitBuffers.count(stmt.ref.buffer);
  const ViewParts parts = viewOf(stmt, buffer->rows / (division == Division::Rows ? role.instances : 1),
                                 buffer->cols / (division == Division::Cols ? role.instances : 1), false, division);
  std::vector<cpp::Expr> args;
  const bool mayBeWide = isWhole && !goesByEngine(stmt.ref, stmt.view.tensor);
  if (mayBeWide)
    args.push_back(suitsWide(parts) ? cpp::method(kernel.argument(stmt.view.tensor), "wide") : cpp::boolean(false));
  args.push_back(viewExpr(parts, mayBeWide ? 16 : 0));
  args.push_back(slice(stmt.ref));
  const bool byAll = isWhole && !ofOneInstance;
  args.push_back(byAll ? threadInRole : threadInInstance);
  const cpp::Expr threads = cpp::integer(static_cast<int64_t>(byAll ? role.totalWarps() : role.warps) * role.lanes);
  out.push_back(cpp::Stmt::expression(cpp::call(cpp::templated("tk::copy_from_shared", {threads}), std::move(args))));
}

void RolePrinter::printCopyOut(const Stmt &stmt, cpp::Body &out) {
  if (stmt.map.empty())
    return copyOutByThreads(stmt, out);
  if (!kernel.plan.findMap(stmt.map)->tiledBy.empty())
    return printCopyOutOfColumns(stmt, out);
  std::vector<cpp::Expr> args = {kernel.tensorMap(stmt.map), slice(stmt.ref)};
  for (cpp::Expr &at : coordinates(stmt, true))
    args.push_back(std::move(at));
  emit(stmt, out, cpp::call(stmt.reducing ? "tk::tma_add" : "tk::tma_store", std::move(args)));
}

/// To a tile whose columns the launcher chose.
void RolePrinter::printCopyOutOfColumns(const Stmt &stmt, cpp::Body &out) {
  std::vector<cpp::Expr> args = {kernel.tensorMap(stmt.map), kernel.columns(), slice(stmt.ref),
                                 value(stmt.operands[stmt.view.indices.back().operand]), cpp::integer(stmt.colLo)};
  const std::vector<cpp::Expr> at = coordinates(stmt, true);
  args.insert(args.end(), at.begin() + 1, at.end());
  emit(stmt, out, cpp::call("tk::tma_store_columns", std::move(args)));
}

namespace {

bool copiesOut(const plan::Body &body, const std::string &buffer) {
  return std::any_of(body.begin(), body.end(), [&](const Stmt &stmt) {
    return (stmt.kind == StmtKind::CopyOut && stmt.ref.buffer == buffer) || copiesOut(stmt.prologue, buffer) ||
           copiesOut(stmt.body, buffer) || copiesOut(stmt.epilogue, buffer) || copiesOut(stmt.orElse, buffer);
  });
}

/// Whether another role takes the buffer out: what stages it has loops that leave few registers.
bool isHandedOver(const plan::Plan &plan, const plan::Role &role, const std::string &buffer) {
  return std::any_of(plan.roles.begin(), plan.roles.end(),
                     [&](const plan::Role &other) { return other.name != role.name && copiesOut(other.body, buffer); });
}

} // namespace

void RolePrinter::printStoreShared(const Stmt &stmt, cpp::Body &out) {
  cpp::Expr source = value(stmt.operands[0]);
  const VarType &type = typeOf(stmt.operands[0]);
  const plan::Buffer *buffer = kernel.plan.findBuffer(stmt.ref.buffer);
  source = convert(source, type.elem, buffer->elem);
  const int64_t count = stmt.colHi - stmt.colLo;
  if (count > 0 && count != partCols(type, role.instances))
    source =
        cpp::call(cpp::templated("tk::cols_of", {cpp::integer(count)}), {source, cpp::integer(stmt.colLo / count)});
  const cpp::Expr store =
      cpp::call(isHandedOver(kernel.plan, role, stmt.ref.buffer) ? "tk::store_shared_late" : "tk::store_shared",
                {slice(stmt.ref), source});
  if (stmt.firstInstance && instance)
    out.push_back(cpp::Stmt::ifThen(cpp::binary("==", instance, cpp::integer(0)), {cpp::Stmt::expression(store)}));
  else
    emit(stmt, out, store);
}

} // namespace tkc::cuda
