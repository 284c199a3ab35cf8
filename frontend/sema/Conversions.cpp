// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what an expression means to the SSA value that an op wants: constants take the other operand's type, a [1, 1]
// tile is a scalar and back.
#include "frontend/sema/Elaborator.h"
#include "support/Tensor.h"

#include <cmath>

namespace tkc::sema {

bool Elaborator::isOperand(const Val &val, SourceRange where) {
  switch (val.kind) {
  case Val::Kind::Error:
    return false;
  case Val::Kind::Const:
    return true;
  case Val::Kind::Value:
    if (!val.isTileIndex())
      return true;
    error(Diag::tile_index_operand, where, val.value->name);
    return false;
  case Val::Kind::Tensor:
    error(Diag::tensor_operand, where, val.tensor);
    return false;
  case Val::Kind::Scaled:
    error(Diag::scaled_operand, where);
    return false;
  case Val::Kind::Tuple:
    error(Diag::tuple_operand, where, val.elements.size());
    return false;
  }
  return false;
}

ir::Value *Elaborator::toValue(const Val &val, SourceRange where) {
  if (val.isTileIndex())
    return val.value;
  if (!isOperand(val, where))
    return nullptr;
  return val.isValue() ? val.value : toElem(val, val.elem, where);
}

/// Narrow types saturate. A double does not tell apart what is beyond 2^53.
static bool isRepresentable(double number, ElemType elem) {
  if (elem == ElemType::I64)
    return std::abs(number) < 0x1p53;
  return number >= -0x1p31 && number < 0x1p31;
}

ir::Value *Elaborator::toElem(const Val &val, ElemType elem, SourceRange where) {
  if (!isOperand(val, where))
    return nullptr;
  if (val.isValue())
    return builder.cast(elem, val.value);
  if (isInteger(elem) && !isRepresentable(val.number, elem)) {
    error(Diag::integer_too_large, where, val.number);
    return nullptr;
  }
  return builder.constant(elem, roundTo(elem, val.number));
}

ir::Value *Elaborator::toScalar(const Val &val, SourceRange where, std::string_view what) {
  if (val.isTileIndex()) {
    error(Diag::tile_index_operand, where, val.value->name);
    return nullptr;
  }
  ir::Value *value = toValue(val, where);
  if (!value || value->type.isScalar())
    return value;
  if (value->type.isTile() && value->type.rows == 1 && value->type.cols == 1)
    return builder.toScalar(value);
  error(Diag::not_a_scalar, where, what, describe(value->type));
  return nullptr;
}

ir::Value *Elaborator::toInteger(const Val &val, SourceRange where, std::string_view what) {
  ir::Value *value = toScalar(val, where, what);
  if (!value)
    return nullptr;
  if (!isInteger(value->type.elem)) {
    error(Diag::not_an_integer, where, what, describe(value->type));
    return nullptr;
  }
  return builder.cast(ElemType::I32, value);
}

ir::Value *Elaborator::toTile(const Val &val, SourceRange where) {
  ir::Value *value = toValue(val, where);
  if (!value || value->type.isTile())
    return value;
  if (value->type.isScalar())
    return builder.full(value, 1, 1);
  if (value->type.kind == ir::Type::TileIndex)
    error(Diag::tile_index_operand, where, value->name);
  else
    error(Diag::vector_meets_tile, where, describe(value->type));
  return nullptr;
}

Val Elaborator::cast(ElemType elem, const Val &val, SourceRange where) {
  if (val.isConst())
    return Val::constant(elem, roundTo(elem, elem == ElemType::Bool ? val.number != 0 : val.number), false);
  if (!isOperand(val, where))
    return Val::error();
  if (elem == ElemType::Bool && val.value->type.elem != ElemType::Bool) {
    ElemType arithmetic = arithmeticType(val.value->type.elem);
    ir::Value *number = val.value->type.elem == arithmetic ? val.value : builder.cast(arithmetic, val.value);
    return Val::ofValue(builder.binary(ir::OpKind::Ne, number, builder.constant(arithmetic, 0)));
  }
  return Val::ofValue(builder.cast(elem, val.value));
}

} // namespace tkc::sema
