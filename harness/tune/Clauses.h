// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what was measured to a .tks file: as few schedules as serve every shape almost as well as its own best, each
// with the calls that it is for.
#pragma once

#include "harness/tune/Search.h"

#include <string>
#include <vector>

namespace tkc::tune {

/// One `schedule … when …`.
struct Clause {
  std::string condition; ///< on dims, without `when`; empty: every call that no clause before it takes
  const Built *candidate = nullptr;
  std::vector<size_t> shapes; ///< whose figures it has
};

/// In the order of the file. None where nothing is faster than what the file says. Where all shapes gain, the last
/// clause serves every call; where the file's own schedules are as good for some, the clauses are for calls like the
/// others.
std::vector<Clause> findClauses(const Search &search, const std::string &gpu);

/// The clauses of all searches as a .tks file, which says what was measured and on what. Formatted. Empty where there
/// is no clause.
std::string printSchedules(const std::vector<std::unique_ptr<Search>> &searches, const std::string &gpu,
                           const std::string &archName, const std::string &fileName);

} // namespace tkc::tune
