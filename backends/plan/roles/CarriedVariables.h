// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The variables of what a loop carries: a value that is yielded is computed straight into the one that is carried,
// where nothing later still reads the old one, by this name or by another; others are moved there at the end of an
// iteration.
#pragma once

#include "backends/plan/roles/ModuloSchedule.h"
#include "backends/plan/roles/RoleBuilder.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tkc::planner {

class CarriedVariables {
public:
  /// `computed`: the ops of which the role has the results. `lowest`: arguments that begin with the lowest number.
  CarriedVariables(RoleBuilder &builder, const ir::OpSet &computed, const ir::ValueSet &lowest)
      : builder(builder), computed(computed), lowest(lowest) {}

  /// Carried variables start as their initial values, in the same variable where nothing else needs those.
  void begin(const ir::Op &loop);
  /// Gives what is yielded the variable that is carried, where it can be computed in place.
  void coalesce(const ir::Op &loop, const std::vector<ScheduledOp> &order);
  /// Whether what `order` computes an iteration late has the variable that is carried: nothing moves it there in time.
  /// After `coalesce`.
  bool canBeLate(const ir::Op &loop, const std::vector<ScheduledOp> &order) const;
  /// What was not computed in place is moved, all of it at once: each move reads what was there before the others.
  void yield(const ir::Op &loop);

private:
  using Values = ir::ValueSet;
  using Move = std::pair<std::string, std::string>; ///< to, from
  using Moves = std::vector<Move>;

  void beginLowest(const ir::Value *arg, SourceLoc loc);
  bool isOwn(const ir::Value *value) const;
  bool coalesce(const ir::Value *value, const ir::Value *arg, const std::vector<ScheduledOp> &order);
  Values sharersOf(const ir::Value *arg) const;
  bool isNeededAfter(const ir::Value *value, const ir::Value *arg, const std::vector<ScheduledOp> &order,
                     std::vector<ScheduledOp>::const_iterator at) const;
  void emitMoves(Moves moves, SourceLoc loc);

  RoleBuilder &builder;
  const ir::OpSet &computed;
  const ir::ValueSet &lowest;
};

/// What a body ends with; null: nothing.
const ir::Op *yieldOf(const ir::Block &body);
/// Whether nothing reads the value after `user`, which then may write to its variable: it has no other user, and is
/// made anew each time that `user` runs.
bool diesAt(const ir::Value *value, const ir::Op &user);
/// Whether the op's result may be its operand's variable under another name.
bool isRenaming(const ir::Op &op);
/// The innermost loop or branch around a block.
const ir::Op *repeatingOp(const ir::Block *block);

} // namespace tkc::planner
