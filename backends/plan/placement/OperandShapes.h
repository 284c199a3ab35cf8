// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the operands and the result of each product, placed and padded one by one, fit each other.
#pragma once

#include "backends/plan/placement/Placement.h"

#include <string>

namespace tkc::planner {

/// What a user can do about it, where they do not; empty: they fit.
std::string whyOperandsDoNotFit(const Nest &nest, const Placement &placement);

} // namespace tkc::planner
