// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of element-wise work on tiles. Outside of loops code goes through such a run with one element after the other,
// so that tiles between the first and the last take no registers; the verifier's count of registers rests on it. Long
// runs are printed like that; of one operation on another's result the compiler sees it by itself.
#pragma once

#include "ir/plan/PlanIR.h"

#include <map>
#include <string>
#include <vector>

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tkc::plan {

/// How often the variables of a body are read and written, in nested statements, too.
struct Accesses {
  std::map<std::string, size_t> reads, writes;

  explicit Accesses(const Body &body);
};

/// The longest run from `first` on, of which nothing but the last result is read elsewhere. `accesses`: of the whole
/// role. `typeOf`: null for what is no variable. `isInPlace`: whether a statement is printed where its result is read;
/// what makes no tile is passed over then, and no run ends with it.
std::vector<const Stmt *> runByElements(const Body &body, size_t first, const Accesses &accesses,
                                        llvm::function_ref<const VarType *(const std::string &)> typeOf,
                                        llvm::function_ref<bool(const Stmt &)> isInPlace);

/// Whether the statement means the same for numbers as for tiles of them. Not so: what rounds in another way there, and
/// patterns over neighbours.
bool isByElements(const Stmt &stmt);

} // namespace tkc::plan
