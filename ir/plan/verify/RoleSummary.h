// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every run of the protocol check asks about a role, and asks often: what the names in its statements stand for.
#pragma once

#include "ir/plan/verify/Trace.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tkc::plan {

/// A stage of a buffer that a statement names.
struct ResolvedRef {
  const Buffer *buffer = nullptr;
  int slot = -1;          ///< of stage 0; -1: it names none
  int cursor = 0;         ///< its number; that of none is 0, which stays at stage 0
  int64_t ringStages = 0; ///< of the cursor; 0: there is none
  Division slice = Division::Whole;
  bool transposed = false;
};

/// A statement with numbers for its names.
struct ResolvedStmt {
  const Stmt *stmt = nullptr;
  int number = 0;                  ///< among those of the role
  ResolvedRef ref;                 ///< Stmt::ref
  ResolvedRef a, dest, scales[2];  ///< Product: those of them that it has
  int barrier = -1;                ///< stage 0 of its barrier
  int cursor = 0;                  ///< cursorOf
  int64_t ringStages = 0;          ///< of that cursor
  const VarType *scalar = nullptr; ///< the type of what it computes, where that is a scalar or a tile index
  bool touchesProducts = false;    ///< registers that products write, or read as A
  bool isWatched = false;          ///< it accesses a tensor of which accesses are to stay in order
  std::vector<ResolvedStmt> prologue, body, epilogue, orElse;
};
using ResolvedBody = std::vector<ResolvedStmt>;

struct RoleSummary {
  RoleSummary(const Plan &plan, const Role &role, const Numbering &numbering);

  const Role &role;
  const bool oneThread;
  bool instancesDiffer = false; ///< in what they do
  ResolvedBody prelude, body, finish;
  int numStmts = 0;
  int numCursors = 1; ///< with the one that stays at stage 0
};

} // namespace tkc::plan
