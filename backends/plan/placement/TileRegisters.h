// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ir/plan/PlanIR.h"

namespace tkc::planner {

/// Registers of a computing thread that a tile takes, which so many instances share where its division says so.
int64_t registersOf(const plan::VarType &type, int instances);

} // namespace tkc::planner
