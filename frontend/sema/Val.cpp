// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/sema/Val.h"

#include <fmt/core.h>

namespace tkc::sema {

std::string shapeText(const ir::Type &type) {
  switch (type.kind) {
  case ir::Type::Scalar:
    return "1×1";
  case ir::Type::Vector:
  case ir::Type::TileIndex:
    return fmt::format("{}", type.rows);
  case ir::Type::Tile:
    return fmt::format("{}×{}", type.rows, type.cols);
  }
  return {};
}

std::string describe(const ir::Type &type) {
  switch (type.kind) {
  case ir::Type::Scalar:
    return fmt::format("`{}` scalar", spelling(type.elem));
  case ir::Type::Vector:
    return fmt::format("`{}` vector of {}", spelling(type.elem), type.rows);
  case ir::Type::TileIndex:
    return "tile index";
  case ir::Type::Tile:
    break;
  }
  if (type.isColumn() && type.rows > 1)
    return fmt::format("`{}` column of {}", spelling(type.elem), type.rows);
  if (type.isRow() && type.cols > 1)
    return fmt::format("`{}` row of {}", spelling(type.elem), type.cols);
  return fmt::format("`{}` tile of {}×{}", spelling(type.elem), type.rows, type.cols);
}

std::string describe(const Val &val) {
  switch (val.kind) {
  case Val::Kind::Error:
    return "error";
  case Val::Kind::Const:
    return val.elem == ElemType::Bool ? "`bool`" : fmt::format("`{}` number", spelling(val.elem));
  case Val::Kind::Value:
    return describe(val.value->type);
  case Val::Kind::Tensor:
    return "tensor";
  case Val::Kind::Scaled:
    return fmt::format("scaled {}", describe(val.value->type));
  case Val::Kind::Tuple:
    return fmt::format("list of {} values", val.elements.size());
  }
  return {};
}

} // namespace tkc::sema
