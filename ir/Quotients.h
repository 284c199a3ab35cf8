// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ranges show of divisions of integers. A dim may be 0, but not everywhere:
//   for j in tiles(0, n, 64) { page = pages[j.col / S]; t = k[page, j.col % S, :]; }
// Every tile of j has an element, which reads k, so that S is at least 1 wherever the body runs. Before the loop it may
// be 0, as the loop may have no tile.
#pragma once

#include "ir/RangeAnalysis.h"

#include <map>
#include <set>
#include <string>

namespace tkc::ir {

/// Lives as long as the function does not change.
class Quotients {
public:
  explicit Quotients(const Function &function) : function(function), ranges(function) {}

  /// Of a Div or Mod of integers that is computed in `block`, which need not be its own: whoever computes it outside of
  /// a loop knows nothing of what only the loop's tiles show.
  Quotient of(const Op &op, const Block &block);

private:
  using Dims = std::set<std::string>;

  const Dims &notEmptyIn(const Block &block);
  void addAxes(const Block &block, Dims &dims);
  void addLoads(const Block &block, Dims &dims) const;
  void addRange(const Op &loop, Dims &dims);
  void addRange(const Affine &length, Dims &dims);
  bool isNatural(Value *value, const Dims &dims, int depth = 0);
  bool isPositive(Value *value, const Dims &dims, int depth = 0);
  bool isMultiple(const Op &quotient) const;

  const Function &function;
  RangeAnalysis ranges;
  std::map<const Block *, Dims> known;
};

} // namespace tkc::ir
