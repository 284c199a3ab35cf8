// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that several loops go along: the first loop keeps what it loads in shared memory, the others find it there.
#pragma once

#include "backends/schedule/Schedule.h"
#include "backends/targets/Description.h"
#include "ir/plan/PlanIR.h"

#include <string>
#include <vector>

namespace tkc::planner {

/// In a role of a kernel without products whose blocks take one tile each: of tiles that loops over the same range load
/// one after the other, the first ones are kept in buffers that are added to `buffers`, so many that 1024 threads of a
/// multiprocessor still find place, or as the key `keep` says; further ones are loaded again. Every thread reads what
/// it wrote itself, so that no barrier is needed. With the key `keep_ahead` all that is kept is copied asynchronously
/// before the first loop, which waits for one tile after the other. `plan` has the grid and the prelude. Returns why
/// that key cannot be met, or nothing.
std::string keepInShared(plan::Role &role, std::vector<plan::Buffer> &buffers, const plan::Plan &plan,
                         const arch::Description &arch, const Schedule &schedule);

} // namespace tkc::planner
