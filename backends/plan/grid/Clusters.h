// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clusters: blocks that take neighbouring tiles along one axis of the grid, on which an operand of their loops does not
// depend. Each block copies a share of that operand's tile into all of them, so that it leaves L2 once a cluster.
#pragma once

#include "backends/plan/placement/Placement.h"

#include <string>

namespace tkc::planner {

/// The axis (a place in nest.axes) along which clusters of `blocks` share the most; its operands become multicast, in
/// their rings and tensor maps. Nothing where no axis will do: `why` then says for each what stands against it.
std::optional<size_t> formClusters(const ir::Function &function, const Nest &nest, int blocks, Placement &placement,
                                   std::string &why);

/// The axis along which pairs of blocks multiply together: each has its rows of the left operands and of the results,
/// and loads half of the right operands, which are the same for both; rings then hold those halves. Nothing where that
/// cannot be: `why` says so.
std::optional<size_t> formPairs(const ir::Function &function, const Nest &nest, Placement &placement, std::string &why);

} // namespace tkc::planner
