// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How two slices of one tensor lie to each other: apart, or such that what is in both has one place in both.
#pragma once

#include "backends/plan/analysis/LoopSteps.h"
#include "ir/RangeAnalysis.h"

#include <vector>

namespace tkc::planner {

/// The For ops around an op, innermost first.
std::vector<const ir::Op *> loopsAround(const ir::Op &op);

/// Questions about accesses (Load, Store, Atomic) of one tensor. `loop`, one that is around both, says that they are
/// in different iterations of it, and in the same ones of the loops around it; null: in the same of all that they
/// share.
class SliceOverlap {
public:
  explicit SliceOverlap(const ir::Function &function) : ranges(function), steps(ranges) {}

  /// Whether they have no element in common.
  bool areApart(const ir::Op &one, const ir::Op &other, const ir::Op *loop);
  /// Whether an element that both have is at the same row and column of their tiles.
  bool areAligned(const ir::Op &one, const ir::Op &other, const ir::Op *loop);

private:
  /// Where an index begins: base + step · (number of the tile in `root`'s range), and how many elements follow it.
  struct Start {
    ir::Affine base;
    const ir::Value *root = nullptr;
    int64_t step = 1, extent = 1;
  };
  Start startOf(const ir::Op &access, const ir::ViewIndex &index);
  /// The first element, and bounds of the last, each of which holds.
  struct Reach {
    ir::Affine first;
    std::vector<ir::Affine> last;
  };
  Reach reachOf(const ir::Op &access, const ir::ViewIndex &index);
  bool areApart(const ir::Op &one, const ir::Op &other, size_t dim, const ir::Op *loop);
  bool comesBefore(const Reach &one, const Reach &other);
  bool areStepsApart(const Start &one, const Start &other, const ir::Op &loop);
  bool areInWindow(const ir::Affine &begin, const Reach &one, const Reach &other, const ir::Op &loop);
  bool areExclusive(const ir::Op &one, const ir::Op &other);
  bool isAligned(const ir::Op &one, const ir::Op &other, size_t dim, const ir::Op *loop);

  ir::RangeAnalysis ranges;
  LoopSteps steps;
};

} // namespace tkc::planner
