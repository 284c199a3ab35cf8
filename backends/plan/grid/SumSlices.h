// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of which each block of a cluster adds up its share of the columns, and goes on with it alone. What follows the
// sums then is a loop of at most one tile of so many columns:
//
//   bias = load bias[n]             for n_share in tiles(share_begin, share_end, 16) {
//   sum = add (acc, bias)             acc_share = load_shared acc_part[0] share cols
//   store c[m, n] = sum        ⇒      acc_of_1 = load_shared acc_part[0] share cols of block 1 on
//                                     acc_share = add (acc_share, acc_of_1)
//                                     bias = load bias[n_share]
//                                     sum = add (acc_share, bias)
//                                     store c[m, n_share] = sum
//                                   }
#pragma once

#include "ir/plan/PlanIR.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

/// What `rest`, the statements that follow the sums of a role, do to a share of the columns.
class SumSlices {
public:
  /// Null where a share of the columns cannot go through `rest` for itself: it does more than work on elements and
  /// store them, or the columns of a share are no whole tiles of the accumulators' layout.
  static std::optional<SumSlices> of(const plan::Plan &plan, const plan::Role &role,
                                     const std::vector<std::string> &sums, const plan::Body &rest, int blocks);

  /// Columns of a share.
  int64_t columns() const { return cols; }

  /// The loop that takes the place of `rest`, with what it needs before it. `part` is the block's rank; `bufferOf` says
  /// where the blocks left which sum. `scales`, if any: by what those of the block are to be multiplied, then those of
  /// the blocks that come next.
  plan::Body lower(plan::Role &role, plan::Body rest, const std::string &part,
                   const std::map<std::string, std::string> &bufferOf, const std::vector<std::string> &scales,
                   std::set<std::string> &taken) const;

private:
  SumSlices(std::vector<std::string> sums, int blocks, std::string axis, int64_t cols)
      : sums(std::move(sums)), blocks(blocks), axis(std::move(axis)), cols(cols) {}

  void addUp(plan::Role &role, plan::Body &body, const std::string &sum, const std::string &share,
             const std::string &buffer, const std::vector<std::string> &scales, SourceLoc loc,
             std::set<std::string> &taken) const;

  void narrow(plan::Stmt &stmt, const std::string &share) const;

  std::vector<std::string> sums;
  int blocks;
  std::string axis; ///< of the grid, along which the columns lie; empty: they are all of a dim
  int64_t cols;     ///< of a share
};

} // namespace tkc::planner
