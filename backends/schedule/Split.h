// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who shares out the loop of products of one tile: blocks of a cluster (key `split`), or computing warpgroups of one
// block (key `split_in_block`). `Schedule::split` has both numbers: the warpgroups times `splitFactor`, and the blocks.
#pragma once

#include "backends/schedule/Schedule.h"

namespace tkc::planner {

constexpr int64_t splitFactor = 256;

/// 1: no other block has a part of the loop.
inline int splitBlocks(const Schedule &schedule) {
  const int64_t blocks = schedule.split.value_or(1) % splitFactor;
  return blocks > 0 ? static_cast<int>(blocks) : 1;
}
/// 1: no other warpgroup has.
inline int splitWarpgroups(const Schedule &schedule) {
  const int64_t warpgroups = schedule.split.value_or(1) / splitFactor;
  return warpgroups > 0 ? static_cast<int>(warpgroups) : 1;
}
inline void setSplitBlocks(Schedule &schedule, int64_t blocks) {
  schedule.split = splitWarpgroups(schedule) * splitFactor + blocks;
}
inline void setSplitWarpgroups(Schedule &schedule, int64_t warpgroups) {
  schedule.split = warpgroups * splitFactor + splitBlocks(schedule);
}

} // namespace tkc::planner
