// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the cost model expects the roles of a block to do when, in the form in which measured timelines are shown.
#pragma once

#include "harness/Predict.h"
#include "support/Timeline.h"

namespace tkc {
class SourceManager;
}

namespace tkc::harness {

/// Of a prediction that was made with PredictOptions::timeline: a block of each launch, one after the other.
timeline::Timeline timelineOf(const Prediction &prediction, const std::string &title, const SourceManager &sources,
                              uint32_t mainBuffer);

} // namespace tkc::harness
