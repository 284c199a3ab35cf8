// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `tkc tune` says to people.
#pragma once

#include "harness/tune/Search.h"

#include <string>
#include <utility>

namespace tkc::tune {

/// What would be built, with predicted times where there are some, and what would not, and why.
std::string formatCandidates(const Search &search, const std::vector<const Built *> &first);

/// A row a shape: the file's own time, the best one's, the ratio and the schedule. Then those that gave wrong results.
std::string formatBest(const Search &search, const std::string &gpu);

/// Of the shape where most was gained how many times as fast it became, and a text: "1.070 × gemm bf16: BM = 64;".
/// 0 where nothing was measured.
std::pair<double, std::string> shortBest(const Search &search, const std::string &gpu);

} // namespace tkc::tune
