// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accumulators in tensor memory that a role of their own rescales: what the computing role leaves to it. It waits for
// each product into them, multiplies their rows by a column that the computing role sends, and, beside one computing
// warpgroup, takes the results out at the end; the computing role goes on with the next tile's vector work meanwhile.
// Beside several it has too few registers for results: they take these out themselves, and one warpgroup rescales for
// all of them in turn.
#pragma once

#include "backends/plan/tensor/PlaceTensors.h"

namespace tkc::planner {

/// Where the key `correction` asks for such a role: the buffer for the columns that it multiplies by. `why`: what
/// stands against it.
std::string chooseCorrection(const Schedule &schedule, Placement &placement, std::string &why);

struct Correction {
  std::set<std::string> tensors;  ///< the accumulators
  std::set<std::string> vars;     ///< the role's own variables, but for scalars
  std::set<std::string> received; ///< columns that the computing role sends
  std::set<std::string> scalars;  ///< that it computes again
  std::string why;                ///< not empty: why there can be no such role
  bool onlyRescales = false;      ///< all else that is done to the accumulators is the computing role's

  bool isFor(const std::string &tensor) const { return tensors.count(tensor) != 0; }
  /// Whether the statement is the correcting role's, bodies apart.
  bool does(const plan::Stmt &stmt) const;
  /// Whether it does something in the bodies of the statement, too.
  bool doesIn(const plan::Stmt &stmt) const;
};

/// Of a role whose products' results were placed in tensor memory.
Correction findCorrection(const plan::Role &role);

/// Moves what makes the columns that accumulators are multiplied by, and the multiplications, before work on tiles that
/// they do not need, so that they are sent early.
void rescaleEarly(plan::Role &role);

/// Makes the role, which only rescales, one of a single set of warps, which goes from instance to instance. `empty`:
/// the barrier that columns sent to it are let go by.
void takeInTurn(plan::Role &correction, const std::string &empty);

/// Whether the role hands something to the copy engine to store.
bool storesByEngine(const plan::Role &role);
/// Forgets variables that no statement of the role names.
void dropUnusedVars(plan::Role &role);

} // namespace tkc::planner
