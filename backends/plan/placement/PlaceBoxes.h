// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which loads the copy engine does by where their tiles begin, once all are placed.
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// Leaves to threads what the engine never takes, and notes in `asksStart` what it takes sometimes. Where threads copy
/// something anyway, they copy that as well.
void placeBoxes(const ir::Function &function, const arch::Description &arch, Placement &placement);

} // namespace tkc::planner
