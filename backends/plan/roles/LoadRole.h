// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The role that loads: the loops around the ring loads, what their addresses need, and the copies, which run ahead of
// the consumers as far as the rings allow.
#pragma once

#include "backends/plan/roles/RoleBuilder.h"

namespace tkc::planner {

/// `meeting`: where its threads meet before and after what they copy at the stages at which the engine does not.
plan::Role lowerLoadRole(const Nest &nest, const Placement &placement, const SharedNames &shared,
                         plan::NamedBarrier meeting);

} // namespace tkc::planner
