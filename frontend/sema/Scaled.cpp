// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block scales: `k / 32` indexes what there is for each 32 elements of a tile, `scaled(a[m, k], sa[m, k / 32])` is a
// tile with its scales, and `@` of two of these one product. Packed types besides, of which slices begin and end with
// groups of elements that fill whole bytes.
#include "frontend/sema/Dims.h"
#include "frontend/sema/Elaborator.h"

#include "llvm/Support/Casting.h"

#include <fmt/core.h>

namespace tkc::sema {
namespace {

/// Whether every value of the form is a multiple, as far as its coefficients say.
bool isMultiple(const Linear &form, int64_t of) {
  bool result = form.constant % of == 0;
  for (const auto &term : form.terms)
    result = result && term.second % of == 0;
  return result;
}

} // namespace

// ---- divided tile indices ------------------------------------------------------------------------------------------

/// `k / 32`.
Val Elaborator::divideTileIndex(const Operands &operands) {
  const Val &index = operands.lhs;
  const ir::Value *tile = index.value;
  const int64_t elements = tile->type.rows / index.divisor;
  if (!operands.rhs.isInteger()) {
    error(Diag::tile_index_divisor, operands.rhsRange, elements, describe(operands.rhs)).range(operands.lhsRange);
    return Val::error();
  }
  const auto by = static_cast<int64_t>(operands.rhs.number);
  if (by < 1 || elements % by != 0) {
    error(Diag::tile_index_not_divided, operands.rhsRange, by, elements).range(operands.lhsRange);
    return Val::error();
  }
  if (tile->definingOp) {
    error(Diag::moved_tile_divided, operands.lhsRange);
    return Val::error();
  }
  Val result = index;
  result.divisor = index.divisor * by;
  return result;
}

/// Whether `where` or the form itself says that a dim is a multiple of `of`.
bool Elaborator::isMultipleDim(const ir::DimExpr &dim, int64_t of) const {
  if (isMultiple(bounds.linear(dim), of))
    return true;
  for (const ast::Expr *condition : kernel.signature.conditions) {
    auto *comparison = llvm::dyn_cast<ast::BinaryExpr>(condition);
    auto *zero = comparison ? llvm::dyn_cast<ast::NumberExpr>(comparison->rhs) : nullptr;
    const std::optional<ir::DimExpr> remainder =
        zero && zero->value == 0 && comparison->op == ast::BinaryOp::Eq ? tryDim(comparison->lhs) : std::nullopt;
    if (!remainder || remainder->kind != ir::DimExpr::Mod)
      continue;
    const ir::DimExpr number = substitute(*remainder->lhs, knownDims), by = substitute(*remainder->rhs, knownDims);
    if (by.isConst() && by.value > 0 && by.value % of == 0 && number.str() == dim.str())
      return true;
  }
  return false;
}

/// The dim has an element for each `divisor` of the range that the tile index runs over, which begins with one.
bool Elaborator::checkDividedTile(const Slice &slice, const ast::Subscript &subscript, const Val &index,
                                  const ir::DimExpr &dim, size_t position) {
  const ir::Op *loop = index.value->ownerBlock->parent;
  const Linear lo = bounds.linear(loop->operand(0)), hi = bounds.linear(loop->operand(1));
  const int64_t divisor = index.divisor;
  if (!isMultiple(lo, divisor)) {
    error(Diag::divided_start, subscript.range, index.value->name, text(lo), divisor);
    return false;
  }
  // What the dim was divided from, rounding up or down.
  const bool isDivided = dim.kind == ir::DimExpr::Div && dim.rhs->isConst() && dim.rhs->value == divisor;
  Linear whole;
  whole.add(bounds.linear(isDivided ? *dim.lhs : dim), isDivided ? 1 : divisor);
  Linear roundedUp = whole;
  if (isDivided && bounds.isAtMost(hi, roundedUp.add(Linear::number(1 - divisor))))
    return true;
  if (isDivided && !isMultipleDim(*dim.lhs, divisor)) {
    error(Diag::divided_dim, subscript.range, dim.lhs->str(), divisor)
        .note(Diag::note_declared_here, {slice.param->loc, slice.param->loc}, slice.view.tensor);
    return false;
  }
  if (!bounds.isAtMost(hi, whole) && hi.isSymbolic()) {
    const bool isOne = hi.terms.size() == 1 && hi.constant == 0;
    error(Diag::wrong_range, subscript.range, fmt::format("{} / {}", index.value->name, divisor),
          fmt::format("{} / {}", isOne ? text(hi) : "(" + text(hi) + ")", divisor), position, slice.view.tensor,
          dim.str())
        .note(Diag::note_declared_here, {slice.param->loc, slice.param->loc}, slice.view.tensor);
    return false;
  }
  return true;
}

/// Operations that need every element of an axis do not know which exist of one with an element a block.
bool Elaborator::hasWholeAxis(const ir::Type &type, int axis, SourceRange where) {
  const ir::Value *end = axis == 0 ? type.rowEnd : type.colEnd;
  const int64_t step = ir::stepOf(end, axis == 0 ? type.rows : type.cols);
  if (step == 1)
    return true;
  error(Diag::divided_axis, where, axis == 0 ? "rows" : "columns", end->name, step);
  return false;
}

// ---- scaled products -----------------------------------------------------------------------------------------------

Val Elaborator::scaled(const Args &args) {
  ir::Value *x = toTile(args.vals[0], args.ranges[0]), *scales = toTile(args.vals[1], args.ranges[1]);
  if (!x || !scales)
    return Val::error();
  const std::optional<ir::BlockScaling> scaling = ir::findBlockScaling(x->type.elem, scales->type.elem);
  if (!scaling) {
    error(Diag::scaled_types, args.range, spelling(scales->type.elem), spelling(x->type.elem));
    return Val::error();
  }
  // Along the columns, or along the rows where the operand lies the other way.
  const int64_t block = scaling->block;
  const auto fits = [&](int64_t rowBlock, int64_t colBlock) {
    return x->type.rows == scales->type.rows * rowBlock && x->type.cols == scales->type.cols * colBlock;
  };
  const bool along = fits(1, block), down = !along && fits(block, 1);
  const auto sameEnd = [](const ir::Value *whole, const ir::Value *divided, int64_t size) {
    return whole == divided || size == 1 || !divided || !whole;
  };
  if ((!along && !down) || !sameEnd(x->type.rowEnd, scales->type.rowEnd, scales->type.rows) ||
      !sameEnd(x->type.colEnd, scales->type.colEnd, scales->type.cols)) {
    error(Diag::scaled_shapes, args.range, describe(x->type), block, describe(scales->type))
        .range(args.ranges[0])
        .range(args.ranges[1]);
    return Val::error();
  }
  return Val::ofScaled(x, scales, down);
}

bool Elaborator::checkScaledOperands(const Val &left, const Val &right, const ast::BinaryExpr &expr) {
  const auto both = [&](Reported reported) { reported.range(expr.lhs->range).range(expr.rhs->range); };
  if (!left.isScaled() || !right.isScaled()) {
    both(error(Diag::scaled_with_plain, expr.opRange));
    return false;
  }
  for (const Val *side : {&left, &right})
    if (side->isScaledDown != (side == &right)) {
      const ast::Expr *operand = side == &left ? expr.lhs : expr.rhs;
      error(Diag::scaled_axis, operand->range, side == &left ? "left" : "right", side == &left ? "rows" : "columns")
          .fixIt({operand->range.end, operand->range.end}, ".T");
      return false;
    }
  const ElemType a = left.value->type.elem, b = right.value->type.elem;
  const ElemType scaleA = left.scales->type.elem, scaleB = right.scales->type.elem;
  if (!ir::canMultiplyScaled(a, b) || scaleA != scaleB) {
    both(error(Diag::scaled_types_differ, expr.opRange, spelling(a), spelling(scaleA), spelling(b), spelling(scaleB)));
    return false;
  }
  return true;
}

// ---- packed types --------------------------------------------------------------------------------------------------

/// A slice of a packed tensor consists of whole groups along its last dim, or is loaded element by element.
bool Elaborator::checkPacked(const Slice &slice, const ast::Subscript &subscript, const ir::ViewIndex &index) {
  const int64_t group = groupElements(slice.param->elem);
  const auto refuse = [&](const std::string &what) {
    error(Diag::packed_slice, subscript.range, spelling(slice.param->elem), group, what)
        .note(Diag::note_declared_here, {slice.param->loc, slice.param->loc}, slice.view.tensor);
    return false;
  };
  switch (index.kind) {
  case ir::ViewIndex::Element:
  case ir::ViewIndex::Gather:
    return true;
  case ir::ViewIndex::All:
  case ir::ViewIndex::Span:
    if (index.lo % group != 0 || index.hi % group != 0)
      return refuse(fmt::format("`{}:{}`", index.lo, index.hi));
    return true;
  case ir::ViewIndex::Tiled:
    break;
  }
  const ir::Value *tile = slice.operands[index.operand];
  if (tile->type.rows / index.divisor % group != 0)
    return refuse(fmt::format("tiles of {}", tile->type.rows / index.divisor));
  if (tile->definingOp)
    return refuse("a tile that was moved");
  const Linear lo = bounds.linear(tile->ownerBlock->parent->operand(0));
  const Linear hi = bounds.linear(tile->ownerBlock->parent->operand(1));
  if (!isMultiple(lo, group * index.divisor))
    return refuse(fmt::format("tiles from `{}` on", text(lo)));
  const bool endsWithTensor = text(hi) == text(bounds.linear(slice.param->dims.back()));
  if (!endsWithTensor && !isMultiple(hi, group))
    return refuse(fmt::format("tiles up to `{}`", text(hi)));
  return true;
}

} // namespace tkc::sema
