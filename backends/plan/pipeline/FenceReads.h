// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that have read a stage fence their reads before they hand it back to the copy engine:
//   load_shared scale <- scale[at]; arrive scale.empty[at] by warps
//   ⇒  load_shared scale <- scale[at]; fence_proxy; arrive scale.empty[at] by warps
// An arrival orders loads before other threads' stores. It does not wait until loads on their way have brought their
// numbers, and the engine's next copy has been seen to overwrite what was still to be read (docs/hardware-rules.md).
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// Adds the fences to all roles of `plan`, whose barriers are complete.
void fenceReads(plan::Plan &plan);

} // namespace tkc::planner
