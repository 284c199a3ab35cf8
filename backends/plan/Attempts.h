// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a plan asks for more than the GPU has: which other values of keys and tunes are worth a try, in which order.
#pragma once

#include "backends/targets/Description.h"
#include "ir/TileIR.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tkc::planner {

/// A tune, a size of tiles that is written as a number, by its digits, or a key of the schedule; without a value a key
/// is as if nobody had set it.
struct Setting {
  std::string name;
  std::optional<int64_t> value;
  bool isTune = false;

  bool isWrittenSize() const;
  bool operator==(const Setting &) const = default;
};
using Attempt = std::vector<Setting>;

/// "`BM = 64`, tiles of 32 instead of 256"; a key without a value is "no `stages`".
std::string spelling(const Attempt &attempt);

/// Attempts that leave alone what is in `fixed`, cheap changes first: keys, then tunes halved once, twice and on.
/// `tunes` are those of the kernel, as they were.
std::vector<Attempt> attempts(ir::Function &function, const arch::Description &arch,
                              const std::vector<std::pair<std::string, int64_t>> &tunes,
                              const std::set<std::string> &fixed);

/// What makes operands in shared memory take less of it, and the kernel slower: with each of these everything else is
/// tried once more where nothing fits without. Nothing of what is in `fixed`.
std::vector<Attempt> memorySavings(ir::Function &function, const arch::Description &arch,
                                   const std::set<std::string> &fixed);

/// Each change that may come next where `now` was changed already: another value of a key, or half of what a tune is by
/// then. Nothing of what is in `fixed`.
std::vector<Setting> nextChanges(ir::Function &function, const arch::Description &arch,
                                 const std::vector<std::pair<std::string, int64_t>> &tunes,
                                 const std::set<std::string> &fixed, const Attempt &now);

/// `now` with one more change, which takes the place of what `now` says of its name.
Attempt with(Attempt now, const Setting &change);

} // namespace tkc::planner
