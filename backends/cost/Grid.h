// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of a grid in the order in which blocks take them.
#pragma once

#include "backends/cost/Cost.h"
#include "ir/plan/PlanIR.h"
#include "ir/plan/verify/Scalars.h"

#include <vector>

namespace tkc::cost {

/// A value for each axis of the grid.
using Tile = std::vector<plan::Scalar>;

class Grid {
public:
  /// `inputs` outlives the grid.
  Grid(const plan::Plan &plan, const plan::Inputs &inputs);

  int64_t size() const { return count; }
  /// Tile number `number` of the launch order; of a cluster, its first block's.
  Tile tile(int64_t number) const;
  /// What the prelude computes, with the axes of a tile.
  plan::Scalars scalars(const Tile &tile) const;
  /// Whether the extent of an axis depends on other axes: then it was taken as that of the first of them.
  bool isRagged() const { return plan.grid.ragged; }

private:
  struct Axis {
    int64_t lo = 0, hi = 0, step = 1, steps = 0;
    int64_t blocks = 1; ///< of a cluster along the axis
    bool reversed = false;
  };
  plan::Scalar value(const Axis &axis, int64_t index) const;

  const plan::Plan &plan;
  plan::Scalars prelude;
  std::vector<Axis> axes;
  int64_t count = 1;
};

/// Dims and parameters of a call as plans' scalars take them, and which tensors suit the copy engine.
plan::Inputs inputsOf(const plan::Plan &plan, const CallShape &call);
/// Bytes to which every row of the tensor is aligned, up to maxAlignment.
int rowAlignment(const ir::Param &tensor, const CallShape &call);
/// Elements of a tensor.
double elementsOf(const ir::Param &tensor, const CallShape &call);

} // namespace tkc::cost
