// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels whose tiles may have fewer columns than their registers and shared memory are for: the launcher chooses how
// many (GridAxis::step). What lies beyond these columns is computed or left as it is, and must reach nobody. So all
// that such a kernel does with the axis is to load operands and what goes with the results, to multiply, to work on
// elements and to store.
#pragma once

#include "ir/plan/PlanIR.h"

#include <optional>

namespace tkc::plan {

/// Why a kernel cannot do with fewer columns, and where.
struct Obstacle {
  SourceLoc loc;
  std::string why;
};

/// Of tiles along the axis of the grid of this name; null: the launcher may choose their columns in steps of `step`.
/// Stores by the copy engine are not asked whether their maps are tiled by the axis.
std::optional<Obstacle> whyNoFewerColumns(const Plan &plan, const std::string &axis, int64_t step);

/// Whether the statement has the axis as the last dim of what it copies out.
bool storesColumns(const Stmt &stmt, const std::string &axis);

/// Whether a copy by the engine brings rows of a stage that are the tile's columns: as many as the launcher chose.
bool loadsColumnsAsRows(const Plan &plan, const Stmt &copy);

/// How many blocks of the cluster bring a share of these rows each; 1: the block brings all for itself.
int blocksThatShareRows(const Plan &plan, const Stmt &copy);

} // namespace tkc::plan
