// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded tile lies in shared memory once for all products that read it, filled up to what the first of them needs.
// Where another one needs it filled up along its other axis, each product gets a tile of its own.
//   for i { s += q @ k.T; t += k.T @ v; }, k of 32 columns  ⇒  k is loaded twice, and the second time has 64 of them
#pragma once

#include "ir/TileIR.h"

namespace tkc::planner {

/// Loads what several products read once for each of them. False: there is no such load.
bool separateLoads(ir::Function &function);

} // namespace tkc::planner
