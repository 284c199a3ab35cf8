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

#include <llvm/ADT/STLFunctionalExtras.h>

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

/// Where no attempt fits by itself, what each helps is put together: of all changes that `next` names the one is kept
/// after which the plan lacks the least, and the search goes on from there. Where none helps, a smaller tile is tried
/// all the same: two may help together. `kept` and further changes with which the plan fits, or nothing where no
/// further one helps. `lacks` says by how much the plan with some changes asks for more than there is, which is 0 where
/// it fits and infinite where there is none; `now`, of the plan with `kept`.
std::optional<Attempt> combineAttempts(llvm::function_ref<std::vector<Setting>(const Attempt &)> next,
                                       llvm::function_ref<double(const Attempt &)> lacks, Attempt kept, double now);

} // namespace tkc::planner
