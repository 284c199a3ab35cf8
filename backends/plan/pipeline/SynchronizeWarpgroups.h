// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derives every synchronisation of the computing role from the dependences of its statements:
//   product s = q · k[k_at]         ⇒  wait k.full[k_at]; fence; product; commit
//   m_new = max(m, rowmax(s))       ⇒  wait until the group that writes s is done; k.empty[k_at] arrives; advance k_at
// Invariants: products in flight at a loop's end or an inner loop's start are waited for there; a ring's stage is
// released after the last statement of its level that reads it is complete, or before the end of a pipelined loop that
// reads it no more.
#pragma once

#include "backends/plan/resources/ShareMemory.h"

namespace tkc::planner {

/// Rewrites the body of `role` in place and declares its cursors.
void synchronizeWarpgroups(plan::Role &role, const Placement &placement, const MemoryOf &memory);

} // namespace tkc::planner
