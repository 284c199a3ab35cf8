// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/plan/placement/Placement.h"

namespace tkc::planner {

/// Enters the vectors that loops load into `placement.rings`, each beside the tile that it is worked with. Products are
/// placed and register homes known by then.
void placeVectors(const ir::Function &function, const Nest &nest, const arch::Description &arch, Placement &placement);

} // namespace tkc::planner
