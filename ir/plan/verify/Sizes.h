// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ir/plan/verify/Scalars.h"

namespace tkc::plan {

/// Inputs for the runs of the protocol check, small ones first. Every loop over tiles of a dim gets 0, 1, 2, stages + 1
/// and 2 · stages + 1 trips (stages: of the deepest ring) in combination with those of other dims, a persistent block 0
/// to 3 tiles; maps suit the copy engine all, none or some.
std::vector<Inputs> chooseInputs(const Plan &plan);

/// " (with K = 128, 2 tiles)", for messages; nothing where there is nothing to choose.
std::string describe(const Plan &plan, const Inputs &inputs);

} // namespace tkc::plan
