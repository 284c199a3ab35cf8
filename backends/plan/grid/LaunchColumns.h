// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The key `column_step`: of a kernel of products, the launcher chooses how many columns tiles have, so that as many
// tiles as possible run in a round, or in as few rounds as there must be.
#pragma once

#include "ir/plan/Columns.h"

namespace tkc::planner {

/// Makes the columns of a finished plan's tiles a choice of the launcher; an obstacle where that cannot be.
std::optional<plan::Obstacle> chooseColumnsAtLaunch(plan::Plan &plan, int64_t step);

} // namespace tkc::planner
