// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores of the role that computes: by its threads, or through shared memory, from where the copy engine, a role of its
// own or all threads together write whole rows.
#pragma once

#include "backends/plan/roles/RoleBuilder.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tkc::planner {

class ComputeStores {
public:
  /// `aligned`: every tensor suits the copy engine.
  ComputeStores(RoleBuilder &builder, const ir::Function &function, const Placement &placement, bool aligned,
                std::vector<Unsupported> &unsupported)
      : builder(builder), function(function), placement(placement), aligned(aligned), unsupported(unsupported) {}

  void lower(const ir::Op &store);
  /// By the copy engine where it can, and for tensors that do not suit it by the threads.
  void lower(const ir::Op &store, const std::string &source, plan::StmtKind kind);
  /// Until at most `count` of the copy engine's groups of stores still read shared memory.
  void bulkWait(SourceLoc loc, int count);

private:
  std::string converted(const ir::Value *value, ElemType elem, SourceLoc loc);
  void lowerDirectStore(const ir::Op &store, const std::string &source, plan::StmtKind kind);
  std::vector<std::string> indexOperands(const ir::Op &op) const;
  void syncInstance(SourceLoc loc);
  /// Each warpgroup stages its share of some columns; one of its threads hands them to the copy engine, or all write
  /// them, row by row.
  void storeInPieces(const ir::Op &store, const std::string &source, const StorePlacement &placed, bool byEngine);
  void stagePiece(const ir::Op &store, const std::string &source, const plan::BufferRef &ref,
                  std::pair<int64_t, int64_t> cols);
  void copyPieceOut(const ir::Op &store, const StorePlacement &placed, const plan::BufferRef &ref,
                    std::pair<int64_t, int64_t> cols, bool byEngine);
  /// Whether the copy engine may be reading a buffer that threads are to write results from.
  bool sharesWithEngine(const ir::Op &store, const StorePlacement &placed) const;
  /// To the role that hands it to the copy engine.
  void handOver(const ir::Op &store, const std::string &source, const StorePlacement &placed,
                const plan::BufferRef &ref, std::pair<int64_t, int64_t> cols);
  /// One for all stores that share a staging buffer; none for a buffer of one stage that no other role knows of.
  std::string pieceCursor(const StorePlacement &placed);
  /// All instances stage their shares, and all threads store rows of the whole tile.
  void storeWhole(const ir::Op &store, const std::string &source, const StorePlacement &placed);
  void syncBlock(SourceLoc loc);

  RoleBuilder &builder;
  const ir::Function &function;
  const Placement &placement;
  const bool aligned;
  std::vector<Unsupported> &unsupported;
  std::map<std::string, std::string> pieceCursors; ///< by staging buffer of stores
};

} // namespace tkc::planner
