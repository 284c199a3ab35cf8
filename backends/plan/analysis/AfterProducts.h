// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/plan/analysis/Nest.h"

namespace tkc::planner {

/// Whether each element of the result is made of elements at its place, or of numbers.
bool isWorkOnElements(ir::OpKind kind);

/// Whether what a block does after its loops of products is work on elements, of sums and of what is loaded then, and
/// stores. Any columns of a tile can go through it for themselves.
bool worksOnElementsAfterProducts(const Nest &nest);

} // namespace tkc::planner
