// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars on which the loops and branches around products hang: the role that issues the products computes them again.
#pragma once

#include "backends/plan/roles/RoleBuilder.h"

#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

/// Those of `role`, and all that they are made of; what cannot be computed again is `unsupported`.
std::set<std::string> scalarsOfProducts(const plan::Role &role, std::vector<Unsupported> &unsupported);

} // namespace tkc::planner
