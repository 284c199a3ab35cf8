// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores of a role that copies for itself, through memory that a ring has finished with, so that rows leave in whole.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// Adds the stores and their buffers; fillRings finds these a place, or drops them. A thread's two neighbouring
/// elements of 32 bits need no such help. Whether the tile goes on to multiply after `store`.
bool hasLaterProduct(const Nest &nest, const ir::Op &store);

void placeCoalescedStores(const ir::Function &function, const Nest &nest, Placement &placement);

} // namespace tkc::planner
