// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops whose iterations the instances of a role take in turns (`for k in tiles(a, b, 64) turns 3`): the instance of
// number i has every third tile from number i on. Its cursors begin at its own stage (`advance at own`: by as many
// stages as its number) and pass by the stages of the others at once (`advance at turns 3`: by three).
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::plan {

/// Whether a loop's iterations are taken in turns.
inline bool isInTurns(const Stmt &stmt) { return stmt.kind == StmtKind::For && stmt.turns > 0; }
/// Whether the instances of a role take those of a loop in turns.
inline bool takesTurns(const Role &role) { return any(role.body, isInTurns); }

/// The tiles of a range that an instance has: from the one of number `first` on every `every`-th.
struct Turn {
  int64_t first = 0, every = 1;
  /// Of so many tiles of the range.
  int64_t countOf(int64_t tiles) const { return tiles > first ? (tiles - first + every - 1) / every : 0; }
};
inline Turn turnOf(const Stmt &loop, int instance) { return isInTurns(loop) ? Turn{instance, loop.turns} : Turn{}; }

/// Whether the statement moves a cursor to the instance's own stage.
inline bool movesToOwn(const Stmt &stmt) { return stmt.kind == StmtKind::Advance && stmt.as<Advance>().own; }
/// By how many stages a statement moves the cursor of an instance on.
inline int stagesBy(const Advance &advance, int instance) {
  return advance.own ? instance : advance.turns > 0 ? advance.turns : 1;
}

/// Whether instances of the role do different things at the statement.
inline bool differsByTurn(const Stmt &stmt) { return isInTurns(stmt) || movesToOwn(stmt); }

} // namespace tkc::plan
