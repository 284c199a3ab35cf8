// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which extrema may be NaN where there is nothing but NaN. They are -inf and inf there, which costs a thread an
// operation for each row. What a loop carries, as an online softmax does, ignores NaN by itself:
//   m = max(m, rowmax(s) * scale)     the same m for -inf and for NaN, if m is a number and scale is not negative
#pragma once

#include "ir/plan/PlanIR.h"

#include <map>
#include <set>
#include <string>

namespace tkc::plan {

/// By role, the variables that hold a largest of floats along an axis and reach nothing but maxima with numbers, and
/// those that hold a smallest and reach minima, by nothing but sums, and products with what is not negative.
std::map<std::string, std::set<std::string>> ignoredNaN(const Plan &plan);

} // namespace tkc::plan
