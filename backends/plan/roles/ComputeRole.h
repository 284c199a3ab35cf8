// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The role that computes: every tile op becomes statements on register variables in the order of the modulo schedule,
// with products reading rings and staging buffers. Waits, arrivals and fences are SynchronizeWarpgroups.cpp's.
#pragma once

#include "backends/plan/roles/ModuloSchedule.h"
#include "backends/plan/roles/RoleBuilder.h"
#include "backends/schedule/Schedule.h"

#include <string>

namespace tkc::planner {

struct ComputeRoleResult {
  plan::Role role;
  std::vector<plan::Buffer> scratch; ///< for transpositions, and reductions that cross warps
  std::set<std::string> transposed;  ///< those of `scratch` that a transposition fills and reads between two barriers
  std::vector<Unsupported> unsupported;
  bool overlapped = false; ///< some loop runs products an iteration late
  std::vector<plan::Note> notes;
  std::set<std::string> byMasks; ///< variables of loops whose range is where masks change (ir::Op::byMasks)
};

ComputeRoleResult lowerComputeRole(const ir::Function &function, const Nest &nest, const Placement &placement,
                                   const Schedule &schedule, const SharedNames &shared);

} // namespace tkc::planner
