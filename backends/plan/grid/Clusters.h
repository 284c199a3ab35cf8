// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clusters: blocks that take neighbouring tiles along one axis of the grid, on which an operand of their loops does not
// depend. Each block copies a share of that operand's tile into all of them, so that it leaves L2 once a cluster. Along
// a second axis other blocks may share another operand in the same way.
#pragma once

#include "backends/plan/grid/TileScheduler.h"

#include <string>

namespace tkc::planner {

/// Forms clusters as the keys `cluster`, `cluster_across` and `two_cta` say, and by default pairs of blocks for large
/// tiles of products alone: along the axis on which blocks share the most. Returns what stands against what a key asks
/// for, or nothing.
std::string formClusters(const ir::Function &function, const TileScheduler &tiles, Placement &placement,
                         plan::Plan &plan);

} // namespace tkc::planner
