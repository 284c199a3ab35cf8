// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Staging buffers of two stages, which a loop's iterations fill in turns. What an iteration stages is published by one
// barrier of all warpgroups. With one stage another barrier comes before, as the others may still multiply what was
// staged last. With two it is not needed: who comes to the barrier of an iteration is done with its products of the one
// before, as none is in flight at an iteration's end, so that behind the barrier that one's stage is free.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// Before waits and barriers are derived: gives what the loops of `role` stage in buffers of two stages a cursor each.
void alternateStaging(plan::Role &role, const Placement &placement);

} // namespace tkc::planner
