// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/roles/ComputeStores.h"
#include "backends/plan/placement/SharedUse.h"
#include "ir/Views.h"

#include <algorithm>
#include <fmt/core.h>
#include <tuple>

namespace tkc::planner {

using Kind = plan::StmtKind;

void ComputeStores::lower(const ir::Op &store) {
  const ir::Value *value = store.operands().back();
  const plan::Layout &layout = builder.typeOf(value).layout;
  const ElemType elem = function.findParam(store.view.tensor)->elem;
  const int group = groupElements(elem), run = plan::runOf(layout);
  const bool isHalf = 2 * run == group && layout.threadsPerRow > 1; // two neighbouring threads have one
  if (run % group != 0 && !isHalf) {
    unsupported.push_back(
        {store.loc, fmt::format("a store of packed elements by threads with less than {} neighbours", group)});
    return;
  }
  lower(store, converted(value, elem, store.loc), Kind::Store);
}

void ComputeStores::lower(const ir::Op &store, const std::string &source, plan::StmtKind kind) {
  auto found = placement.stores.find(&store);
  if (found == placement.stores.end())
    return lowerDirectStore(store, source, kind);
  if (isWhole(placement, found->second))
    return storeWhole(store, source, found->second);
  if (found->second.map.empty())
    return storeInPieces(store, source, found->second, false);
  if (aligned)
    return storeInPieces(store, source, found->second, true);
  plan::Stmt branch;
  branch.kind = Kind::If;
  branch.loc = store.loc;
  branch.map = found->second.map;
  if (placement.asksStart.count(&store)) {
    const ir::ViewIndex &index = store.view.indices[rangedDims(store.view).second];
    branch.operands = {builder.emitStarts(
        builder.use(store.operand(index.operand)),
        plan::boxStep(function.findParam(store.view.tensor)->elem, placement.boxAlignment), store.loc)};
  }
  builder.into(branch.body, [&] { storeInPieces(store, source, found->second, true); });
  builder.into(branch.orElse, [&] {
    if (kind == Kind::Store)
      storeInPieces(store, source, found->second, false);
    else
      lowerDirectStore(store, source, kind);
  });
  builder.emit(Kind::If, store.loc) = std::move(branch);
}

void ComputeStores::bulkWait(SourceLoc loc, int count) { builder.emit(plan::BulkWait{count}, loc).one = true; }

std::string ComputeStores::converted(const ir::Value *value, ElemType elem, SourceLoc loc) {
  plan::VarType type = builder.typeOf(value);
  if (type.elem == elem || type.kind == plan::VarType::TileIndex)
    return builder.use(value);
  const std::string source = builder.use(value);
  type.elem = elem;
  const std::string dest = builder.declare(source + "_" + std::string(spelling(elem)), type);
  plan::Stmt &stmt = builder.emit(Kind::Compute, loc);
  stmt.op = ir::OpKind::Cast;
  stmt.dest = dest;
  stmt.operands = {source};
  return dest;
}

void ComputeStores::lowerDirectStore(const ir::Op &store, const std::string &source, plan::StmtKind kind) {
  std::vector<std::string> operands = indexOperands(store);
  operands.push_back(source);
  plan::Stmt &stmt = builder.emit(kind, store.loc);
  stmt.operands = std::move(operands);
  stmt.view = builder.viewOf(store);
  stmt.atomic = store.atomic;
  stmt.firstInstance =
      placement.instances > 1 && plan::heldPart(builder.typeOf(store.operands().back())) == plan::Division::Whole;
}

std::vector<std::string> ComputeStores::indexOperands(const ir::Op &op) const {
  std::vector<std::string> operands;
  for (size_t i = 0; i + 1 < op.operands().size(); ++i)
    operands.push_back(builder.use(op.operand(i)));
  return operands;
}

void ComputeStores::syncInstance(SourceLoc loc) {
  builder.emit(plan::Sync{instanceBarrier, placement.layout.threads}, loc);
}

void ComputeStores::storeInPieces(const ir::Op &store, const std::string &source, const StorePlacement &placed,
                                  bool byEngine) {
  const plan::VarType type = builder.typeOf(store.operands().back());
  const plan::BufferRef ref{placed.buffer, pieceCursor(placed), false, type.division};
  // Others may still multiply out of this memory.
  const bool isOperand = !placement.findBuffer(placed.buffer)->aliasOf.empty();
  if (isOperand && placement.instances > 1)
    builder.syncAll(store.loc);
  const bool waits = !byEngine && sharesWithEngine(store, placed);
  if (waits)
    bulkWait(store.loc, 0);
  for (int64_t col = 0; col < type.cols; col += placed.pieceCols) {
    const bool all = type.division == plan::Division::Cols; // columns are counted within what an instance has
    const auto cols = all ? std::pair<int64_t, int64_t>() : std::pair(col, col + placed.pieceCols);
    if (placed.isApart) {
      handOver(store, source, placed, ref, cols);
      continue;
    }
    if (byEngine)
      bulkWait(store.loc, placed.stages - 1);
    // Of two stages, the barrier after the other was written says that all have read this one.
    if (byEngine || placed.stages == 1 || (col == 0 && (waits || isOperand)))
      syncInstance(store.loc);
    stagePiece(store, source, ref, cols);
    if (byEngine)
      builder.emit(plan::FenceProxy(), store.loc);
    syncInstance(store.loc);
    copyPieceOut(store, placed, ref, cols, byEngine);
    if (!ref.cursor.empty())
      builder.emit(plan::Advance{ref.cursor}, store.loc);
  }
}

bool ComputeStores::sharesWithEngine(const ir::Op &store, const StorePlacement &placed) const {
  return placement.asksStart.count(&store) != 0 ||
         std::any_of(placement.stores.begin(), placement.stores.end(), [&](const auto &other) {
           return other.second.buffer == placed.buffer && other.second.map != placed.map;
         });
}

void ComputeStores::copyPieceOut(const ir::Op &store, const StorePlacement &placed, const plan::BufferRef &ref,
                                 std::pair<int64_t, int64_t> cols, bool byEngine) {
  plan::Stmt &copy = builder.emit(Kind::CopyOut, store.loc);
  copy.one = byEngine;
  copy.map = byEngine ? placed.map : "";
  copy.view = store.view;
  copy.operands = indexOperands(store);
  copy.ref = ref;
  std::tie(copy.colLo, copy.colHi) = cols;
  copy.reducing = store.kind == ir::OpKind::Atomic;
  if (byEngine)
    builder.emit(plan::BulkCommit(), store.loc).one = true;
}

void ComputeStores::stagePiece(const ir::Op &store, const std::string &source, const plan::BufferRef &ref,
                               std::pair<int64_t, int64_t> cols) {
  plan::Stmt &write = builder.emit(Kind::StoreShared, store.loc);
  write.operands = {source};
  write.ref = ref;
  std::tie(write.colLo, write.colHi) = cols;
}

void ComputeStores::handOver(const ir::Op &store, const std::string &source, const StorePlacement &placed,
                             const plan::BufferRef &ref, std::pair<int64_t, int64_t> cols) {
  builder.emit(plan::Wait{{placed.empty(), ref.cursor}, true}, store.loc);
  stagePiece(store, source, ref, cols);
  builder.emit(plan::FenceProxy(), store.loc);
  builder.emit(plan::Arrive{.at = {placed.full(), ref.cursor}, .byWarps = true}, store.loc);
  builder.emit(plan::Advance{ref.cursor}, store.loc);
}

std::string ComputeStores::pieceCursor(const StorePlacement &placed) {
  if (placed.stages == 1 && !placed.isApart)
    return {};
  std::string &cursor = pieceCursors[placed.buffer];
  if (cursor.empty())
    cursor = builder.declare(placed.cursor(), cursorType(placed.stages));
  return cursor;
}

void ComputeStores::storeWhole(const ir::Op &store, const std::string &source, const StorePlacement &placed) {
  syncBlock(store.loc);
  builder.emitStoreShared(source, builder.typeOf(store.operands().back()), placed.buffer, false, store.loc);
  syncBlock(store.loc);
  plan::Stmt &copy = builder.emit(Kind::CopyOut, store.loc);
  copy.view = store.view;
  copy.operands = indexOperands(store);
  copy.ref = {placed.buffer, "", false, plan::Division::Whole};
}

void ComputeStores::syncBlock(SourceLoc loc) { builder.emit(plan::Sync{0, builder.totalThreads()}, loc); }

} // namespace tkc::planner
