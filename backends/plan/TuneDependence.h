// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tune never changes the result, says the language. Nobody keeps a kernel from breaking that: who says otherwise
// gets the tiles that are written. This finds tunes that results depend on, so that none of them is changed unasked.
#pragma once

#include "backends/plan/PlanModule.h"

#include <map>
#include <string>

namespace tkc::planner {

/// `changed` is `function` with other tunes, before any pass: why results depend on these, as the end of a sentence.
/// Empty where nothing shows that they do.
std::string whyDependent(const ir::Function &function, const ir::Function &changed, const SourceManager &sources);

/// Of each tune that results depend on, why.
std::map<std::string, std::string> dependentTunes(const Module &module, const ElaboratedKernel &kernel,
                                                  const SourceManager &sources);

} // namespace tkc::planner
