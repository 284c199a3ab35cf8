// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The role that loads: the loops around the ring loads, what their addresses need, and the copies, which run ahead of
// the consumers as far as the rings allow.
#pragma once

#include "backends/plan/roles/RoleBuilder.h"

namespace tkc::planner {

plan::Role lowerLoadRole(const Nest &nest, const Placement &placement, const SharedNames &shared);

} // namespace tkc::planner
