// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an index goes on from one iteration of a loop to the next.
#pragma once

#include "ir/RangeAnalysis.h"

#include <cstdint>
#include <optional>

namespace tkc::planner {

class LoopSteps {
public:
  explicit LoopSteps(ir::RangeAnalysis &ranges) : ranges(ranges) {}

  /// rest + by · (number of the iteration), where the loop leaves `rest` alone.
  struct Step {
    int64_t by = 0;
    ir::Affine rest;
  };
  /// nullopt: it depends on the loop in another way.
  std::optional<Step> stepOf(const ir::Affine &form, const ir::Op &loop);
  /// Nothing in the form is made in the loop.
  bool isInvariant(const ir::Affine &form, const ir::Op &loop) const;
  /// A loop over tiles whose range is no longer than one.
  bool hasOneTile(const ir::Op &loop);
  /// Whether two loops over tiles never both have one: parts of a range of one tile are such, as loop splitting makes
  /// them for whole tiles and for the last one.
  bool areExclusive(const ir::Op &one, const ir::Op &other);

private:
  ir::RangeAnalysis &ranges;
};

} // namespace tkc::planner
