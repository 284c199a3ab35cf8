// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of products that only add up. Several can share such a loop out, each with sums of its own: blocks of a cluster
// (SplitK.h), or warpgroups of a block (SplitInBlock.h).
#pragma once

#include "ir/plan/PlanIR.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tkc::planner {

/// Loops of a role that follow each other, as masks split them: together they go over one range.
struct LoopsOfProducts {
  size_t first = 0, last = 0; ///< in the role's body

  bool has(const plan::Role &role, const plan::Stmt &stmt) const {
    return &stmt >= &role.body[first] && &stmt <= &role.body[last];
  }
};

/// Null, with `why`, where something else copies or multiplies, but for copies of operands that all iterations use.
std::optional<LoopsOfProducts> findLoops(const plan::Role &role, std::string &why);

/// Tiles and columns of numbers that the loops write and something else knows.
struct CarriedByLoops {
  std::vector<std::string> tiles, columns;
  std::vector<std::string> maxima; ///< columns that take the place of one that was compared with them
  bool others = false;             ///< rows or numbers as well
};
CarriedByLoops carriedBy(const plan::Role &role, const LoopsOfProducts &loops);

/// Why those tiles are no sums that begin with zero, of which each `who` can have a part; empty: they are.
std::string whyNoSums(const plan::Role &role, const LoopsOfProducts &loops, const std::vector<std::string> &tiles,
                      std::string_view who);

/// Shared memory in which one leaves a tile of that type, for others who read `readCols` columns at once.
plan::Buffer bufferOfPart(std::string name, const plan::VarType &type, int64_t readCols, SourceLoc loc);

/// The first statement of a body that computes a variable; null: there is none.
const plan::Stmt *definition(const plan::Body &body, const std::string &name);

} // namespace tkc::planner
