// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of sums that go by a maximum (analysis/OnlineSums.h), one in each block of a cluster. Every block reads the
// maxima of all; what it and the others have added up is by these too large, and becomes a part of the whole:
//
//   m_of_1 = load_shared m_part[0] of block 1 on
//   m_all = max (m, m_of_1)
//   m_scale = exp2 (m - m_all);  m_scale_of_1 = exp2 (m_of_1 - m_all)
//   l = l · m_scale + l_of_1 · m_scale_of_1
//   m = m_all
#pragma once

#include "backends/plan/analysis/OnlineSums.h"
#include "ir/plan/PlanIR.h"

#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

class OnlineParts {
public:
  /// `maximum` and `columns`, sums of one number a row, are columns of the role.
  OnlineParts(plan::Plan &plan, plan::Role &role, OnlineSums sums, std::string maximum,
              std::vector<std::string> columns, int blocks, std::set<std::string> &taken)
      : plan(plan), role(role), sums(sums), maximum(std::move(maximum)), columns(std::move(columns)), blocks(blocks),
        taken(taken) {}

  /// Stores the maximum and the columns where other blocks can read them; `like` is a tile of the same rows.
  void leave(plan::Body &body, const plan::VarType &like, SourceLoc loc);

  /// After all have: the maximum and the columns become those of all parts. Returns what other sums are to be scaled
  /// by, the block's own and those of the blocks that come next.
  std::vector<std::string> merge(plan::Body &body, SourceLoc loc);

private:
  std::string declare(const std::string &hint, const plan::VarType &type);
  std::string compute(plan::Body &body, ir::OpKind op, const std::string &hint, const plan::VarType &type,
                      std::vector<std::string> operands, SourceLoc loc);
  std::string constant(plan::Body &body, const std::string &hint, double value, SourceLoc loc);
  std::string columnOf(plan::Body &body, const std::string &spread, const plan::VarType &type, SourceLoc loc);
  std::vector<std::string> read(plan::Body &body, size_t column, SourceLoc loc);

  plan::Plan &plan;
  plan::Role &role;
  const OnlineSums sums;
  const std::string maximum;
  const std::vector<std::string> columns;
  const int blocks;
  std::set<std::string> &taken;
  plan::VarType tile;                ///< whose columns are all the same: what a column is stored as
  std::vector<std::string> bufferOf; ///< of the maximum, then of the columns
};

} // namespace tkc::planner
