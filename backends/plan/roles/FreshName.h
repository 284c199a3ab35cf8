// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names for what steps add to a role that is complete.
#pragma once

#include "ir/plan/PlanIR.h"

#include <set>
#include <string>

namespace tkc::planner {

/// `hint`, or `hint_2`, `hint_3`, …: the first that is not taken.
template <class IsTaken> std::string freshName(const std::string &hint, const IsTaken &isTaken) {
  std::string name = hint;
  for (int i = 2; isTaken(name); ++i)
    name = hint + "_" + std::to_string(i);
  return name;
}

/// The same, which is then among the names that are taken.
inline std::string freshName(const std::string &hint, std::set<std::string> &taken) {
  return freshName(hint, [&](const std::string &name) { return !taken.insert(name).second; });
}

} // namespace tkc::planner
