// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/plan/analysis/Nest.h"

namespace tkc::planner {

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
