// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small tables that tiles of integers pick elements of: a block copies them to shared memory and looks them up there.
#pragma once

#include "backends/plan/placement/Placement.h"

#include <string>
#include <vector>

namespace tkc::planner {

/// In a role that computes, with its barriers: of tensors that are only read, the rows of at most 256 elements which
/// enough elements are gathered from, at one place of all other dims in each tile of the grid. Every thread loads its
/// share of such a row as soon as that place is known, stores it before the first statement that gathers from it, and
/// meets the others; gathers become look-ups in a buffer, which is added to `buffers`. `comesAgain`: a block may take
/// several tiles, so its threads also meet before they store. Returns the tensors.
std::vector<std::string> placeLookUpTables(plan::Role &role, std::vector<plan::Buffer> &buffers, const plan::Plan &plan,
                                           const Placement &placement, bool comesAgain);

} // namespace tkc::planner
