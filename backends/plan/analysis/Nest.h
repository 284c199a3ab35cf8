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
  /// Per axis: ops that its bounds need and that depend on axes to the left. Non-empty: the grid is ragged.
  std::vector<std::vector<const ir::Op *>> bounds;
  std::vector<const ir::Op *> tileOps; ///< what a block does for its tile, in order

  bool isRagged() const;
};

/// Asserts the shape that elaboration guarantees: one chain of Parallel ops, effects only inside the innermost.
Nest findNest(const ir::Function &function);

} // namespace tkc::planner
