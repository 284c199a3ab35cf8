// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/placement/TensorMaps.h"

#include "backends/plan/analysis/CopyEngineAccess.h"
#include "ir/Views.h"

#include <algorithm>
#include <fmt/core.h>
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

/// Whether L2 is to fetch no more for a box of an operand than that has, as those beside it, of this tile or another
/// block's, ask for theirs: where what is read is multiplied with too little for its memory to keep up. Whole rows of a
/// tensor are a tile's own, and are fetched alone only for a product of as few rows as decoding has: that reads memory
/// at 4.3 instead of 3.9 TB/s on an H200 (docs/notes/attention-splits.md).
static bool fetchesBoxesAlone(const ir::Op &dot, size_t position, const ir::Op &load, const plan::Buffer &buffer,
                              const plan::TensorMap &map) {
  constexpr int64_t few = 64, fewOfWholeRows = 8;
  const ir::Type &result = dot.result()->type;
  const bool isPart = map.boxCols < buffer.cols || load.view.indices.back().kind != ir::ViewIndex::All;
  return load.parent == dot.parent && (position == 0 ? result.cols : result.rows) <= (isPart ? few : fewOfWholeRows);
}

plan::TensorMap makeOperandMap(const ir::Op &dot, size_t position, const ir::Op &load, const plan::Buffer &buffer) {
  plan::TensorMap map = makeMap(load, buffer, load.result()->type.rows);
  if (fetchesBoxesAlone(dot, position, load, buffer, map))
    map.fetched = 128;
  return map;
}

plan::TensorMap makeConvertedMap(const ir::Op &dot, size_t position, const ir::Op &load, const plan::Buffer &buffer) {
  plan::TensorMap map = makeOperandMap(dot, position, load, buffer);
  constexpr int64_t wide = 128; // bytes of a row of a box
  if (bytesOf(buffer.elem, map.boxCols) >= wide)
    map.fetched = plan::TensorMap().fetched;
  return map;
}

std::string whyNotByEngine(const ir::Function &function, const arch::Description &arch, const ir::Op &load,
                           const plan::Buffer &buffer, const ir::Type &stored) {
  if (!arch.hasBulkTensorCopy)
    return fmt::format("`{}` has no copy engine", arch.name);
  if (std::string why = whyNotByCopyEngine(function, load); !why.empty())
    return why;
  if (buffer.rows != stored.rows || buffer.cols != stored.cols)
    return fmt::format("its tile of {}x{} is padded to {}x{}", stored.rows, stored.cols, buffer.rows, buffer.cols);
  if (isFloat6(buffer.elem) && buffer.cols % plan::float6BoxCols != 0)
    return fmt::format("the engine takes elements of six bits by {} of a row", plan::float6BoxCols);
  if (const int64_t step = plan::boxStep(buffer.elem, arch.boxAlignment);
      boxStarts(function, load, step) == BoxStarts::Never)
    return fmt::format("its tiles begin at no multiple of {} columns, as the engine's boxes do", step);
  return stored.rows > arch.maxBoxDim ? fmt::format("a copy has at most {} rows", arch.maxBoxDim) : "";
}

plan::Swizzle chooseSwizzle(int64_t rowBytes) {
  if (rowBytes % 128 == 0)
    return plan::Swizzle::B128;
  if (rowBytes % 64 == 0)
    return plan::Swizzle::B64;
  return rowBytes % 32 == 0 ? plan::Swizzle::B32 : plan::Swizzle::None;
}

} // namespace tkc::planner
