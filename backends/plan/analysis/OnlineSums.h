// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums that a loop of products scales to a running maximum, as a softmax made tile by tile does:
//
//   n = max(m, rowmax(x));  r = exp(m - n);  p = exp(x - n);  l = l · r + rowsum(p);  acc = acc · r + p @ v;  m = n
//
// They are linear in exp(-maximum). So parts of the loop can be done apart, each by a maximum of its own: with M, the
// largest of these, the whole sum is that of sum · exp(m - M) over the parts.
#pragma once

#include "backends/plan/analysis/Nest.h"

#include <optional>
#include <string>

namespace tkc::planner {

/// What all loops of products of a nest have in common, which follow each other.
struct OnlineSums {
  ir::OpKind exponential = ir::OpKind::Exp2; ///< or Exp
  size_t sums = 0;                           ///< values that are carried besides the maximum
  /// The maximum may be -inf, where a row has seen nothing. Differences are from 0 then: n -inf ? 0 : n.
  bool mayBeNothing = false;
};

/// Null where no loop of products carries a maximum, or, with `why`, where one does and something else is made of it.
std::optional<OnlineSums> findOnlineSums(const Nest &nest, std::string &why);

} // namespace tkc::planner
