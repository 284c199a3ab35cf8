// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copies of a role that fills its rings itself: what their addresses need, for whatever tile of the loop they are.
#pragma once

#include "backends/plan/roles/AsyncCopyPipeline.h"
#include "backends/plan/roles/RegisterPipeline.h"

#include <set>
#include <vector>

namespace tkc::planner {

class InlineCopies {
public:
  InlineCopies(RoleBuilder &builder, const Placement &placement);

  /// Adds what addresses need from outside of the loop bodies that their loads stand in.
  void addNeeded(ir::OpSet &needed) const;
  /// Whether `op` loads an operand once a tile of the grid.
  bool isOnceLoad(const ir::Op &op) const;
  /// The copy of such a load.
  void load(const ir::Op &op);
  /// Emits the first copies of the loop, and puts the others into `stmt`, its lowered form.
  void pipeline(const ir::Op &loop, plan::Stmt &stmt);
  /// Emits what follows the loop.
  void finish(const ir::Op &loop);

private:
  const RingPlacement *ringOf(const ir::Op *op) const;
  std::vector<const ir::Op *> loadsOf(const ir::Op &loop, const RingPlacement &ring) const;
  bool hasRings(const ir::Op &loop) const;
  void fillWhole(const ir::Op &loop, const RingPlacement &ring);
  void waitForCopies(const ir::Op &loop);
  DirectLoads directLoads(const ir::Op &loop);
  void waitForLoads(const ir::Op &loop, int count, int ahead);
  plan::Stmt tileAhead(const ir::Op &loop, int count, bool inLoop);
  void fill(const ir::Op &loop, const RingPlacement &ring, CopyPart part, int count, bool inLoop);
  void copy(const ir::Op &load, CopyPart part, const std::string &cursor);
  const std::string &shareOf(const RingMember &member);

  RoleBuilder &builder;
  ir::OpMap<std::string> aheadOf;            ///< the variable for the tiles of a loop that are copied ahead
  std::map<std::string, std::string> shares; ///< variables of what is on its way in registers, by member
  const Placement &placement;
};

} // namespace tkc::planner
