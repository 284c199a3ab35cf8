// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/Quotients.h"

#include <algorithm>
#include <cmath>

namespace tkc::ir {
namespace {

constexpr int deepest = 8;

/// Whether the value is what ranges say that it is: dims, places in them, and their sums and differences are far from
/// the ends of i32. Other sums may wrap, and products.
bool isPlace(const Value *value, int depth = 0) {
  constexpr double large = 0x1p30;
  const Op *op = value->definingOp;
  if (!op)
    return value->ownerBlock->parent && value->index == 0; // what a loop goes through, which it does not carry
  if (depth > deepest)
    return false;
  const auto isPlaceOf = [&](const Value *operand) { return isPlace(operand, depth + 1); };
  switch (op->kind) {
  case OpKind::Const:
    return std::fabs(op->constant) <= large;
  case OpKind::Param:
    return depth == 0; // any i32, to which nothing may be added
  case OpKind::Dim:
  case OpKind::Iota:
  case OpKind::Begin:
  case OpKind::End:
  case OpKind::Index:
  case OpKind::Elements:
    return true;
  case OpKind::Div:
  case OpKind::Full:
  case OpKind::Cast:
    return isPlaceOf(op->operand(0));
  case OpKind::Mod: // smaller than the divisor
    return isPlaceOf(op->operand(1));
  case OpKind::Add:
  case OpKind::Sub:
  case OpKind::Max:
  case OpKind::Min:
    return std::all_of(op->operands().begin(), op->operands().end(), isPlaceOf);
  default:
    return false;
  }
}

/// The symbols that are at least 1 where a dim is.
void addSymbols(const DimExpr &dim, std::set<std::string> &dims) {
  if (dim.kind == DimExpr::Symbol)
    dims.insert(dim.symbol);
  if (dim.kind != DimExpr::Mul)
    return;
  addSymbols(*dim.lhs, dims);
  addSymbols(*dim.rhs, dims);
}

/// A dim or a number as a dim's expression; nullopt for other values.
std::optional<DimExpr> dimOf(const Value *value) {
  const Op *op = value->definingOp;
  if (op && op->kind == OpKind::Dim)
    return DimExpr::named(op->name);
  if (op && op->kind == OpKind::Const)
    return DimExpr::constant(static_cast<int64_t>(op->constant));
  return std::nullopt;
}

} // namespace

Quotient Quotients::of(const Op &op, const Block &block) {
  const Dims &dims = notEmptyIn(block);
  if (!isPositive(op.operand(1), dims))
    return Quotient::Any;
  return isNatural(op.operand(0), dims) ? Quotient::Natural : Quotient::Positive;
}

// ---- dims that are at least 1 --------------------------------------------------------------------------------------

const Quotients::Dims &Quotients::notEmptyIn(const Block &block) {
  const auto [entry, isNew] = known.try_emplace(&block);
  Dims &dims = entry->second;
  if (!isNew)
    return dims;
  if (const Op *parent = block.parent) {
    dims = notEmptyIn(*parent->parent);
    if (parent->kind == OpKind::For || parent->kind == OpKind::Parallel)
      addRange(*parent, dims);
  } else {
    addAxes(block, dims);
  }
  addLoads(block, dims);
  return dims;
}

/// A grid of dims alone that has no tile is not launched: whatever runs, a tile's body does.
void Quotients::addAxes(const Block &block, Dims &dims) {
  Dims ofTiles;
  for (const Block *at = &block; at;) {
    addLoads(*at, ofTiles);
    const auto axis =
        std::find_if(at->ops.begin(), at->ops.end(), [](const auto &op) { return op->kind == OpKind::Parallel; });
    if (axis == at->ops.end())
      break;
    for (Value *bound : {(*axis)->operand(0), (*axis)->operand(1)})
      for (const auto &[atom, coefficient] : ranges.formOf(bound).terms)
        if (ranges.atom(atom).kind != Atom::Symbol)
          return; // ragged
    addRange(**axis, ofTiles);
    at = &(*axis)->body();
  }
  dims.merge(ofTiles);
}

/// What a load reads is there, unless it says what to take otherwise.
void Quotients::addLoads(const Block &block, Dims &dims) const {
  for (const auto &op : block.ops) {
    if (op->kind != OpKind::Load || op->hasElse)
      continue;
    const Param &tensor = *function.findParam(op->view.tensor);
    for (size_t i = 0; i < tensor.dims.size(); ++i) {
      const ViewIndex::Kind kind = op->view.indices[i].kind;
      if (kind == ViewIndex::Element || kind == ViewIndex::Gather)
        addSymbols(tensor.dims[i], dims);
    }
  }
}

void Quotients::addRange(const Op &loop, Dims &dims) {
  addRange(ranges.formOf(loop.operand(1)) - ranges.formOf(loop.operand(0)), dims);
}

/// Of a length that is at least 1.
void Quotients::addRange(const Affine &length, Dims &dims) {
  for (const auto &[id, coefficient] : length.terms) {
    const Atom atom = ranges.atom(id);
    if (coefficient <= 0)
      continue;
    // The smaller of two is at least 1 as a whole: so are both.
    if (atom.kind == Atom::Min && coefficient == 1) {
      Affine rest = length;
      std::erase(rest.terms, Affine::Term(id, coefficient));
      addRange(rest + atom.lhs, dims);
      addRange(rest + atom.rhs, dims);
    }
    if (atom.kind != Atom::Symbol)
      continue;
    Affine dim;
    dim.terms.emplace_back(id, coefficient);
    if (ranges.isNonNegative(dim - length, dims))
      dims.insert(atom.symbol);
  }
}

// ---- signs ---------------------------------------------------------------------------------------------------------

bool Quotients::isNatural(Value *value, const Dims &dims, int depth) {
  if (isPlace(value) && ranges.isNonNegative(ranges.formOf(value), dims))
    return true;
  const Op *op = value->definingOp;
  if (!op || depth > deepest)
    return false;
  const auto is = [&](size_t operand) { return isNatural(op->operand(operand), dims, depth + 1); };
  switch (op->kind) {
  case OpKind::Add:
    return isPlace(value) && is(0) && is(1);
  case OpKind::Min:
  case OpKind::Div:
    return is(0) && is(1);
  case OpKind::Max:
    return is(0) || is(1);
  case OpKind::Mod:
    return is(1);
  case OpKind::Full:
    return is(0);
  default:
    return false;
  }
}

bool Quotients::isPositive(Value *value, const Dims &dims, int depth) {
  if (isPlace(value) && ranges.isNonNegative(ranges.formOf(value) - 1, dims))
    return true;
  const Op *op = value->definingOp;
  if (!op || depth > deepest)
    return false;
  const auto is = [&](size_t operand) { return isPositive(op->operand(operand), dims, depth + 1); };
  switch (op->kind) {
  case OpKind::Div:
    return isMultiple(*op) && is(0) && is(1);
  case OpKind::Min:
    return is(0) && is(1);
  case OpKind::Max:
    return is(0) || is(1);
  case OpKind::Full:
    return is(0);
  default:
    return false;
  }
}

bool Quotients::isMultiple(const Op &quotient) const {
  const std::optional<DimExpr> whole = dimOf(quotient.operand(0)), part = dimOf(quotient.operand(1));
  return whole && part && std::any_of(function.multiples.begin(), function.multiples.end(), [&](const auto &pair) {
           return pair.first.str() == whole->str() && pair.second.str() == part->str();
         });
}

} // namespace tkc::ir
