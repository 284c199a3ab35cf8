// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/resources/OwnMemory.h"

namespace tkc::planner {

void addOwnMemory(plan::Plan &plan) {
  for (const ir::Param &param : plan.params) {
    if (!param.isLocal)
      continue;
    plan::Buffer buffer;
    buffer.name = plan::bufferOf(param);
    buffer.elem = param.elem;
    buffer.rows = 1;
    buffer.cols = 1;
    for (const ir::DimExpr &dim : param.dims)
      buffer.cols *= dim.value;
    buffer.swizzle = plan::Swizzle::None;
    buffer.loc = param.loc;
    plan.buffers.push_back(buffer);
  }
}

} // namespace tkc::planner
