// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads, stores and atomics.
#include "frontend/sema/Elaborator.h"
#include "ir/Verifier.h"

#include "llvm/Support/Casting.h"

#include <fmt/core.h>

namespace tkc::sema {

/// "rows with `m`, columns in full"
static std::string endsText(const ir::Type &type) {
  auto end = [](const ir::Value *index) { return index ? "with `" + index->name + "`" : std::string("in full"); };
  if (type.kind == ir::Type::Vector)
    return end(type.rowEnd);
  return fmt::format("rows {}, columns {}", end(type.rowEnd), end(type.colEnd));
}

Val Elaborator::load(const ast::IndexExpr &expr, const ast::Expr *otherwise) {
  std::optional<Slice> slice = this->slice(expr);
  Val outside = otherwise ? this->expr(otherwise) : Val::error();
  if (!slice)
    return Val::error();
  const std::string &tensor = slice->view.tensor;
  if (!inParallel) {
    error(Diag::outside_parallel, expr.range);
    return Val::error();
  }
  if (slice->isAbsent) {
    error(Diag::absent_tensor, expr.range, tensor);
    return Val::error();
  }
  if (slice->param->mode == ir::ParamMode::Out && !written.count(tensor)) {
    error(Diag::read_before_write, expr.range, tensor)
        .note(Diag::note_declared_here, {slice->param->loc, slice->param->loc}, tensor);
    return Val::error();
  }
  if (slice->mayLeave.isValid() && !otherwise)
    error(Diag::needs_else, slice->mayLeave, slice->leaving, tensor).range(expr.range);
  ir::Value *outsideValue = nullptr;
  if (otherwise) {
    ir::Value *scalar = toScalarOf(outside, slice->param->elem, otherwise->range);
    if (!scalar)
      return Val::error();
    outsideValue = scalar;
  }
  builder.setLoc(expr.range.begin);
  ir::Value *value = builder.load(slice->view, slice->operands, outsideValue, slice->type);
  if (value->name.empty())
    value->name = tensor;
  if (slice->singleAxis && value->type.kind == ir::Type::Vector)
    value = *slice->singleAxis == 0 ? builder.asRow(value) : builder.asCol(value);
  return Val::ofValue(value);
}

/// What stands after `else`, as the tensor's type.
ir::Value *Elaborator::toScalarOf(const Val &val, ElemType elem, SourceRange where) {
  if (val.isConst())
    return toElem(val, elem, where);
  ir::Value *scalar = toScalar(val, where, "what follows `else`");
  return scalar ? builder.cast(elem, scalar) : nullptr;
}

void Elaborator::store(const ast::AssignStmt &stmt) {
  std::optional<Slice> slice = this->slice(*llvm::cast<ast::IndexExpr>(stmt.target));
  Val val = expr(stmt.value);
  builder.setLoc(stmt.range.begin);
  if (!slice || !canWrite(*slice, stmt))
    return;
  written.insert(slice->view.tensor);
  if (val.isError())
    return;
  ir::Value *value = storedValue(val, *slice, stmt.value->range);
  if (!value || slice->isAbsent)
    return;
  switch (stmt.op) {
  case ast::AssignOp::Set:
    builder.store(slice->view, slice->operands, value);
    break;
  case ast::AssignOp::Add:
    builder.atomic(ir::AtomicKind::Add, slice->view, slice->operands, value);
    break;
  case ast::AssignOp::Max:
    builder.atomic(ir::AtomicKind::Max, slice->view, slice->operands, value);
    break;
  case ast::AssignOp::Min:
    builder.atomic(ir::AtomicKind::Min, slice->view, slice->operands, value);
    break;
  case ast::AssignOp::Sub:
  case ast::AssignOp::Mul:
  case ast::AssignOp::Div:
    break; // canWrite has refused these
  }
}

/// Whether this tensor may be written in this way; says why not.
bool Elaborator::canWrite(const Slice &slice, const ast::AssignStmt &stmt) {
  const ir::Param &param = *slice.param;
  SourceRange declared{param.loc, param.loc};
  if (slice.mayLeave.isValid()) {
    error(Diag::store_may_leave, slice.mayLeave, slice.leaving, param.name);
    return false;
  }
  if (isPacked(param.elem) &&
      (!slice.type.isTile() || slice.hasGather || slice.view.indices.back().kind == ir::ViewIndex::Element)) {
    error(Diag::packed_store, stmt.target->range, spelling(param.elem))
        .note(Diag::note_declared_here, declared, param.name);
    return false;
  }
  if (param.mode == ir::ParamMode::In) {
    error(Diag::write_to_input, stmt.target->range, param.name).note(Diag::note_declared_here, declared, param.name);
    return false;
  }
  if (stmt.op == ast::AssignOp::Set)
    return true;
  bool isAdd = stmt.op == ast::AssignOp::Add;
  bool isMinMax = stmt.op == ast::AssignOp::Max || stmt.op == ast::AssignOp::Min;
  if (!isAdd && !isMinMax) {
    error(Diag::no_such_atomic, stmt.opRange, spelling(stmt.op));
    return false;
  }
  bool hasType =
      param.elem == ElemType::F32 || param.elem == ElemType::I32 || param.elem == ElemType::I64 ||
      (isAdd && (param.elem == ElemType::F64 || param.elem == ElemType::F16 || param.elem == ElemType::BF16));
  if (!hasType) {
    error(Diag::atomic_type, stmt.opRange, spelling(stmt.op), spelling(param.elem),
          isAdd ? "`f32`, `f64`, `f16`, `bf16`, `i32` and `i64`" : "`f32`, `i32` and `i64`");
    return false;
  }
  if (param.mode == ir::ParamMode::Out) {
    error(Diag::accumulate_into_out, stmt.target->range, param.name)
        .note(Diag::note_declared_here, declared, param.name);
    return false;
  }
  return true;
}

bool Elaborator::checkStorable(ElemType from, ElemType to, SourceRange where, const std::string &tensor) {
  bool toFloat = isFloat(to), fromFloat = isFloat(from);
  bool isLoss = (fromFloat && !toFloat) || (to == ElemType::Bool && from != ElemType::Bool);
  if (isLoss)
    error(Diag::store_type, where, spelling(from), tensor, spelling(to));
  return !isLoss;
}

/// The value in the slice's element type and shape.
ir::Value *Elaborator::storedValue(const Val &val, const Slice &slice, SourceRange where) {
  if (!isOperand(val, where))
    return nullptr;
  ElemType elem = slice.param->elem;
  bool isIntegerLiteral = val.isConst() && !isFloat(val.elem);
  if (!isIntegerLiteral && !checkStorable(val.type().elem, elem, where, slice.view.tensor))
    return nullptr;
  ir::Value *value = toElem(val, elem, where);
  if (!value)
    return nullptr;
  const ir::Type &to = slice.type;
  ir::Type from = value->type;
  if (to.isScalar())
    return toScalar(Val::ofValue(value), where, "what is stored to one element");
  if (from.isScalar())
    return builder.full(value, to.rows, to.cols);
  if (ir::canStore(from, to))
    return value;
  // A column or a row goes to every column or row of the slice.
  if (to.isTile() && from.isTile()) {
    std::optional<ir::Type> both = ir::broadcast(from, to);
    if (both && both->rows == to.rows && both->cols == to.cols) {
      ir::Value *everywhere = builder.full(builder.constant(ElemType::Bool, 1), to.rows, to.cols);
      return builder.select(everywhere, value, value);
    }
  }
  if (to.kind == ir::Type::Vector && from.isTile() && from.rows == 1 && from.cols == 1)
    return builder.full(builder.toScalar(value), to.rows, 1);
  if (to.isTile() && from.kind == ir::Type::Vector)
    error(Diag::vector_meets_tile, where, describe(from));
  else if (from.kind == to.kind && from.rows == to.rows && from.cols == to.cols)
    error(Diag::store_edges, where, slice.view.tensor, endsText(from), endsText(to));
  else
    error(Diag::store_shape, where, describe(from), slice.view.tensor, describe(to));
  return nullptr;
}

} // namespace tkc::sema
