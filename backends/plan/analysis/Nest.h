// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel as its grid and what one block does: the Parallel ops around the innermost body, and the scalar work between
// them sorted by what it depends on.
#pragma once

#include "ir/TileIR.h"

#include <vector>

namespace tkc::planner {

struct Nest {
  std::vector<const ir::Op *> axes;    ///< Parallel ops, outermost first
  std::vector<const ir::Op *> prelude; ///< ops that depend on no axis: run once
  /// Per axis: ops that its bounds need and that depend on axes to the left, or that the launcher does not
  /// compute. Non-empty: the grid is ragged.
  std::vector<std::vector<const ir::Op *>> bounds;
  std::vector<const ir::Op *> tileOps; ///< what a block does for its tile, in order

  bool isRagged() const;
};

/// Asserts the shape that elaboration guarantees: one chain of Parallel ops, effects only inside the innermost.
Nest findNest(const ir::Function &function);

/// The ops of a body, in order.
inline std::vector<const ir::Op *> opsOf(const ir::Block &block) {
  std::vector<const ir::Op *> ops;
  for (const auto &op : block.ops)
    ops.push_back(op.get());
  return ops;
}

/// Calls `visit(op, depth)` on every op of a block's work, outer first; depth counts the For ops around it.
template <class Visit> void walkOps(const ir::Block &block, int depth, Visit &visit) {
  for (const auto &op : block.ops) {
    visit(*op, depth);
    for (const auto &body : op->bodies)
      walkOps(*body, depth + (op->kind == ir::OpKind::For ? 1 : 0), visit);
  }
}

template <class Visit> void walkTile(const Nest &nest, Visit visit) {
  for (const ir::Op *op : nest.tileOps) {
    visit(*op, 0);
    for (const auto &body : op->bodies)
      walkOps(*body, op->kind == ir::OpKind::For ? 1 : 0, visit);
  }
}

} // namespace tkc::planner
