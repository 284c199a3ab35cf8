// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The statements of all roles of a plan.
#pragma once

#include "ir/plan/PlanIR.h"

#include <algorithm>

namespace tkc::cuda {

template <class Visit> void walk(const plan::Plan &plan, const Visit &visit) {
  for (const plan::Role &role : plan.roles) {
    walk(role.body, visit);
    walk(role.finish, visit);
  }
}

template <class Predicate> bool any(const plan::Plan &plan, const Predicate &is) {
  return std::any_of(plan.roles.begin(), plan.roles.end(),
                     [&](const plan::Role &role) { return plan::any(role.body, is) || plan::any(role.finish, is); });
}

} // namespace tkc::cuda
