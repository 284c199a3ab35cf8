// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accumulators of several stages, which one loop of products fills and one load empties.
#pragma once

#include "backends/plan/tensor/PlaceTensors.h"

namespace tkc::planner {

/// The role's loads of accumulators that are rings: the full stage (`x.ready`), and then it is free (`x.free`), of
/// pairs of blocks in the first.
void emptyRings(plan::Role &role, const TensorHomes &homes, int stages, bool byPairs);

} // namespace tkc::planner
