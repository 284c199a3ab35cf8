// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers of shared memory that are never in use at the same time lie in the same memory, with the key `share`. What
// fills such a buffer waits for those who read another one there (SynchronizeBlock.h, SynchronizeWarpgroups.h).
#pragma once

#include "backends/plan/placement/Placement.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

/// Buffers that share memory, each with the one that gives it; this one, too, with itself.
using MemoryOf = std::map<std::string, std::string>;

/// Whether both lie in the memory of one, and are two.
bool lieTogether(const MemoryOf &memory, const std::string &one, const std::string &other);

/// Sets `aliasOf` of buffers of the role that computes, and of `scratch`, of which `transposed` names those that
/// transpositions go through.
MemoryOf shareMemory(const plan::Role &role, const std::set<std::string> &transposed,
                     std::vector<plan::Buffer> &scratch, Placement &placement);

} // namespace tkc::planner
