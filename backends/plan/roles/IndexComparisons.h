// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks compare the elements of one tile index with those of another. Two tiles differ by a number: with that on one
// side, the other is the thread's place in its tile, which no loop changes and no register has to keep.
#pragma once

#include "backends/plan/roles/RoleBuilder.h"

#include <optional>
#include <utility>
#include <vector>

namespace tkc::planner {

/// The element indices of `tile`, as a column or a row, and scalars added to or subtracted from them.
struct IndexSum {
  const ir::Op *elements = nullptr;
  std::vector<std::pair<const ir::Value *, bool>> terms; ///< scalar, subtracted
};

/// How `value` is made where it is made like that.
std::optional<IndexSum> asIndexSum(const ir::Value *value);

/// A comparison of an index column with an index row; nullopt for any other op.
std::optional<std::pair<IndexSum, IndexSum>> asIndexComparison(const ir::Op &op);

/// Such a comparison: of places in the tiles, and on the right what the tiles are apart.
void lowerIndexComparison(const ir::Op &op, const IndexSum &left, const IndexSum &right, RoleBuilder &builder);

} // namespace tkc::planner
