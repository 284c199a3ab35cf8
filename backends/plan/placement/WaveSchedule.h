// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How waves hide the loads of a loop of products alone.
//
// *Alternating*, where loads go straight to shared memory: eight waves, two a SIMD, in two halves. The second is held
// back by one barrier before the loop, so that it reads operands and issues loads while the first multiplies, and the
// other way round; s_setprio keeps the half that multiplies in front. After the loop the first half meets that barrier.
// As a half may be a barrier ahead, a tile has come for everybody one iteration before it is read, which takes a ring
// of three stages.
//
// *Interleaved*: the compiler is told to spread the reads of operands between the products.
//
// Both are what W. Hu et al. found fastest on MI300X and MI355X ("HipKittens", 2025). Nobody has timed this code.
#pragma once

#include "backends/plan/placement/Placement.h"
#include "backends/schedule/Schedule.h"
#include "backends/targets/Description.h"

#include <string>

namespace tkc::planner {

/// Decides `turns` and `interleaves`; rings have their stages. `error` is set where the schedule asks for what cannot
/// be.
void chooseWaveSchedule(const arch::Description &arch, const Schedule &schedule, Placement &placement,
                        std::string &error);

} // namespace tkc::planner
