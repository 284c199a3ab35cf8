// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ir/passes/Passes.h"

#include <string>
#include <vector>

namespace tkc::ir {

/// The passes that every target runs over tile IR before it plans, in order.
std::vector<const PassInfo *> tilePipeline();
/// A table of pass and reason, for --print-pipeline.
std::string printTilePipeline();

} // namespace tkc::ir
