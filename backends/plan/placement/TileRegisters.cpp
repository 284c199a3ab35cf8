// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/TileRegisters.h"

#include <algorithm>

namespace tkc::planner {

int64_t registersOf(const plan::VarType &type, int instances) {
  if (type.kind != plan::VarType::Fragment)
    return 0;
  const int holders = type.division == plan::Division::Whole ? 1 : instances;
  return type.rows * type.cols * std::max<int64_t>(byteWidth(type.elem), 4) / 4 / (type.layout.threads * holders);
}

} // namespace tkc::planner
