// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/TensorMaps.h"

#include "ir/Views.h"

#include <algorithm>
#include <tuple>

namespace tkc::planner {

plan::TensorMap makeMap(const ir::Op &access, const plan::Buffer &buffer, int64_t boxRows) {
  plan::TensorMap map;
  map.name = buffer.name + "_map";
  map.tensor = access.view.tensor;
  map.buffer = buffer.name;
  std::tie(map.rowDim, map.colDim) = rangedDims(access.view);
  map.boxRows = boxRows;
  const int64_t span = plan::bytes(buffer.swizzle);
  map.boxCols = span ? std::min(buffer.cols, span * 8 / plan::sharedBits(buffer.elem)) : buffer.cols;
  map.swizzle = buffer.swizzle;
  return map;
}

plan::Swizzle chooseSwizzle(int64_t rowBytes) {
  if (rowBytes % 128 == 0)
    return plan::Swizzle::B128;
  if (rowBytes % 64 == 0)
    return plan::Swizzle::B64;
  return rowBytes % 32 == 0 ? plan::Swizzle::B32 : plan::Swizzle::None;
}

} // namespace tkc::planner
