// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accumulators in tensor memory that a role of their own rescales: what the computing role leaves to it. It waits for
// each product into them, multiplies their rows by a column that the computing role sends, and takes the results out
// at the end; the computing role goes on with the next tile's vector work meanwhile.
#pragma once

#include "backends/plan/TensorMemory.h"

namespace tkc::planner {

struct Correction {
  std::set<std::string> tensors;  ///< the accumulators
  std::set<std::string> vars;     ///< the role's own variables, but for scalars
  std::set<std::string> received; ///< columns that the computing role sends
  std::set<std::string> scalars;  ///< that it computes again
  std::string why;                ///< not empty: why there can be no such role

  bool isFor(const std::string &tensor) const { return tensors.count(tensor) != 0; }
  /// Whether the statement is the correcting role's, bodies apart.
  bool does(const plan::Stmt &stmt) const;
  /// Whether it does something in the bodies of the statement, too.
  bool doesIn(const plan::Stmt &stmt) const;
};

/// Of a role whose products' results were placed in tensor memory.
Correction findCorrection(const plan::Role &role);

/// Whether the role hands something to the copy engine to store.
bool storesByEngine(const plan::Role &role);
/// Forgets variables that no statement of the role names.
void dropUnusedVars(plan::Role &role);

} // namespace tkc::planner
