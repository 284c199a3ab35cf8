// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--set` as it chooses specialisations.
#pragma once

#include "support/Settings.h"

namespace tkc {
struct Specialization;
} // namespace tkc

namespace tkc::planner {

/// Whether `overrides` choose this specialisation, or leave the choice open. What chooses is no setting, so it is taken
/// out.
bool takeChoice(const Specialization &specialization, ScheduleSettings &overrides);

} // namespace tkc::planner
