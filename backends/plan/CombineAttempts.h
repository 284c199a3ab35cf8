// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where no attempt fits by itself, what each helps is put together: of all changes that may come next the one is kept
// after which the plan lacks the least, and the search goes on from there. Where none helps, a smaller tile is tried all
// the same: two may help together.
#pragma once

#include "backends/plan/Attempts.h"

#include <functional>

namespace tkc::planner {

/// `kept` and further changes with which the plan fits, or nothing where no further one helps. `lacks` says by how much
/// the plan with some changes asks for more than there is, which is 0 where it fits and infinite where there is none;
/// `now`, of the plan with `kept`.
std::optional<Attempt> combineAttempts(const std::function<std::vector<Setting>(const Attempt &)> &next,
                                       const std::function<double(const Attempt &)> &lacks, Attempt kept, double now);

} // namespace tkc::planner
