// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one list of what happens to tile IR. No step depends on the architecture: what a target does with the result is
// its planner's business.
#include "ir/passes/Pipeline.h"

#include <cassert>
#include <fmt/core.h>

namespace tkc::ir {
namespace {

struct Row {
  std::string_view pass;
  std::string_view reason;
};

constexpr Row rows[] = {
    {"fold", "consts and tunes are numbers now: decide what they decide"},
    {"canonicalize", "the passes below look for one spelling of a product and of a mask"},
    {"cse", "elaboration computes `j.row` and dims anew at each mention"},
    {"licm", "leaves in a loop only what depends on its index"},
    {"dce", "a value that nothing needs would ask for a mask"},
    {"join-loops",
     "needs one spelling of ranges, and no values that only look as if somebody read them behind the loops"},
    {"cse", "loads that two of the loops had"},
    {"mask-edges", "before split-loops, which moves the masks into a loop's last tiles"},
    {"split-loops", "most tiles need no mask; tiles without a visible element need no work"},
    {"fold", "masks that a part of a loop decides"},
    {"canonicalize", "selects and products that folding has brought together"},
    {"cse", "the parts of a split loop compute bounds alike"},
    {"licm", "masks that no longer depend on the index"},
    {"sink-scales", "once masks are made and moved: a scale then stands beside the sum that absorbs it"},
    {"dce", "masks and scaled tiles that no part needs any more"},
};

} // namespace

std::vector<const PassInfo *> tilePipeline() {
  std::vector<const PassInfo *> passes;
  for (const Row &row : rows) {
    passes.push_back(findPass(row.pass));
    assert(passes.back() && "every step of the pipeline is a row of Passes.def");
  }
  return passes;
}

std::string printTilePipeline() {
  std::string text;
  for (const Row &row : rows)
    text += fmt::format("{:<14} {}\n", row.pass, row.reason);
  return text;
}

} // namespace tkc::ir
