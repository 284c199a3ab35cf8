// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which quotients and roots have to be correctly rounded. Those that GPUs compute fast err by an ulp or more, which
// sums and products do not notice. A rounding to few values does, where the true number is a tie or a whole number:
//   f4e2m1(x / s)      5 / 1 becomes 4, and what is a little above 5 becomes 6
//   i8(x / s)          6 / 3 becomes 2, and what is a little below 2 becomes 1
#pragma once

#include "ir/plan/PlanIR.h"

#include <map>
#include <set>
#include <string>

namespace tkc::plan {

/// By role, the variables of f32 whose quotients and roots reach a cast to a type of at most 8 bits or to integers, or
/// a floor, by nothing but operations that every target rounds alike, copies, and what shared or tensor memory keeps.
std::map<std::string, std::set<std::string>> correctlyRounded(const Plan &plan);

/// Whether it is an operation of which GPUs have a fast form, and a correctly rounded one.
bool isQuotientOrRoot(const Stmt &stmt);

} // namespace tkc::plan
