// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ir/plan/verify/Scalars.h"

namespace tkc::plan {

/// How far loops go: less where a run of the whole would take too long.
enum class Effort : uint8_t {
  All,        ///< as chooseInputs says
  SmallTiles, ///< a dim has so many of the smallest of the tiles that loops over it take
  FewLong,    ///< and of the dims with more than 2 tiles one in four keeps them
  SomeTrips,  ///< one loop in three ends after 2 · stages + 1 trips, the others after 2, whatever their bounds say
  LeastTrips, ///< one in three after stages + 1, the others after 1
  OneTrip     ///< all after 1, so that a run takes no longer than the plan is
};

/// So many of the inputs, the first ones, give each dim as many tiles.
constexpr size_t numEven = 20;

/// Inputs for the runs of the protocol check, small ones first. Every loop over tiles of a dim gets 0, 1, 2, stages + 1
/// and 2 · stages + 1 trips (stages: of the deepest ring) in combination with those of other dims, a persistent block 0
/// to 3 tiles; maps suit the copy engine all, none or some.
std::vector<Inputs> chooseInputs(const Plan &plan, Effort effort);

/// " (with K = 128, 2 tiles)", for messages; nothing where there is nothing to choose.
std::string describe(const Plan &plan, const Inputs &inputs);

} // namespace tkc::plan
