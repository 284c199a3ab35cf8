// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/plan/roles/IntegerCode.h"

#include <string>

namespace tkc::planner {

/// `index (k)` says how many tiles of its loop come before. Where `loop` has become a part of the loop that it was,
/// this adds the tiles from `start`, where it began before, to where it begins now.
///   for k in tiles(part_begin, part_end, 16) { std = load std[at index (k)] }
/// ⇒ tiles_before = (part_begin − start) / 16
///   for k in tiles(part_begin, part_end, 16) { std = load std[at index (k) + tiles_before] }
/// What is computed before the loop is appended to `before`, by `code` of the role.
void countTilesFrom(const std::string &start, plan::Stmt &loop, plan::Body &before, IntegerCode &code);

} // namespace tkc::planner
