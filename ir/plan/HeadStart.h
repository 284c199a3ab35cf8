// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Head starts. A role that does nothing but fill a ring through the copy engine has one thread do it. That thread may
// ask for the first stages of the block's first tile before the threads of the block meet for the first time: the ring
// is empty then, so that nothing has to be waited for. In a plan, `head_start 4` says that the first four iterations of
// the role's loop are such. What the role does, and in which order, is the same without.
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::plan {

/// The loop whose first iterations may have a head start; null: the role can have none. Before it, the role computes
/// scalars alone. It waits for room, announces bytes, copies, and moves each cursor on once.
const Stmt *headLoop(const Plan &plan, const Role &role);

/// How many iterations of `headLoop` need no wait in the first tile: the stages of the ring that has the fewest.
int mostHeadStart(const Plan &plan, const Role &role);

/// Whether the statement belongs to the part of `headLoop` that a head start takes over.
bool asksForCopies(const Stmt &stmt);

} // namespace tkc::plan
