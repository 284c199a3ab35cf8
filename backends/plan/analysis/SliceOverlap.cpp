// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two slices are apart if they are so along one dim, and aligned if they are so along every dim. Of one moment, what
// RangeAnalysis proves of their ends decides. Between iterations of a loop it may speak only of what the loop leaves
// alone; else indices must go on by a step of the loop that is as long as the slices:
//   for k in tiles(0, K, 32) { … h[m, k] … h[m, k] = … }     of different k: 32 columns each, 32 apart
#include "backends/plan/analysis/SliceOverlap.h"

#include "ir/Effects.h"

#include <algorithm>

namespace tkc::planner {

using ir::Affine;
using ir::ViewIndex;

std::vector<const ir::Op *> loopsAround(const ir::Op &op) {
  std::vector<const ir::Op *> loops;
  for (const ir::Block *block = op.parent; block && block->parent; block = block->parent->parent)
    if (block->parent->kind == ir::OpKind::For)
      loops.push_back(block->parent);
  return loops;
}

bool SliceOverlap::isInvariant(const Affine &form, const ir::Op &loop) const {
  return form.valid && std::all_of(form.terms.begin(), form.terms.end(), [&](const Affine::Term &term) {
           const ir::Atom &atom = ranges.atom(term.first);
           return (!atom.value || !ir::isDefinedIn(atom.value, loop.body())) && isInvariant(atom.lhs, loop) &&
                  isInvariant(atom.rhs, loop);
         });
}

SliceOverlap::Start SliceOverlap::startOf(const ir::Op &access, const ViewIndex &index) {
  switch (index.kind) {
  case ViewIndex::Element:
    return {ranges.formOf(access.operand(index.operand))};
  case ViewIndex::All:
  case ViewIndex::Span:
    return {index.lo, nullptr, 1, index.hi - index.lo};
  case ViewIndex::Tiled: {
    ir::Value *tile = access.operand(index.operand);
    Affine moved;
    while (const ir::Op *shift = ir::definedBy(tile, ir::OpKind::Shift)) {
      moved = moved + ranges.formOf(shift->operand(1));
      tile = shift->operand(0);
    }
    const int64_t size = tile->type.rows / index.divisor;
    return {ranges.quotient(ranges.formOf(ir::RangeAnalysis::rangeOf(tile).first) + moved, index.divisor), tile, size,
            size};
  }
  case ViewIndex::Gather:
    break;
  }
  Start anywhere;
  anywhere.base.valid = false;
  return anywhere;
}

/// A store ends with its tile's range; a load may bring all that the tile has place for.
SliceOverlap::Reach SliceOverlap::reachOf(const ir::Op &access, const ViewIndex &index) {
  if (index.kind != ViewIndex::Tiled) {
    const Start start = startOf(access, index);
    return {start.base, {start.base + (start.extent - 1)}};
  }
  ir::Value *tile = access.operand(index.operand);
  const Affine begin = ranges.beginOf(tile);
  Reach reach{ranges.quotient(begin, index.divisor), {ranges.quotient(begin + (tile->type.rows - 1), index.divisor)}};
  if (access.kind != ir::OpKind::Load)
    reach.last.push_back(ranges.quotient(ranges.endOf(tile) - 1, index.divisor));
  return reach;
}

bool SliceOverlap::comesBefore(const Reach &one, const Reach &other) {
  return std::any_of(one.last.begin(), one.last.end(),
                     [&](const Affine &last) { return ranges.isNonNegative(other.first - last - 1); });
}

/// base + step · i and another base + step · j with i ≠ j, where only i is the loop's.
bool SliceOverlap::areStepsApart(const Start &one, const Start &other, const ir::Op &loop) {
  const ir::Value *induction = loop.body().args[0].get();
  const auto stepOf = [&](const Start &start, Affine &rest) -> int64_t {
    rest = start.base;
    if (start.root)
      return start.root == induction ? start.step : 0;
    for (size_t i = 0; i < rest.terms.size(); ++i)
      if (const ir::Atom &atom = ranges.atom(rest.terms[i].first);
          atom.kind == ir::Atom::Scalar && atom.value == induction) {
        const int64_t step = rest.terms[i].second * std::max<int64_t>(loop.tileSize, 1);
        rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
        return step;
      }
    return 0;
  };
  Affine restOfOne, restOfOther;
  const int64_t step = stepOf(one, restOfOne);
  if (step <= 0 || stepOf(other, restOfOther) != step || !isInvariant(restOfOne, loop) ||
      !isInvariant(restOfOther, loop))
    return false;
  const Affine between = restOfOther - restOfOne;
  return between.isConstant() && step + between.constant >= one.extent && step - between.constant >= other.extent;
}

bool SliceOverlap::areApart(const ir::Op &one, const ir::Op &other, size_t dim, const ir::Op *loop) {
  const ViewIndex &index = one.view.indices[dim], &otherIndex = other.view.indices[dim];
  if (index.kind == ViewIndex::Gather || otherIndex.kind == ViewIndex::Gather)
    return false;
  if (loop && areStepsApart(startOf(one, index), startOf(other, otherIndex), *loop))
    return true;
  const Reach reach = reachOf(one, index), otherReach = reachOf(other, otherIndex);
  if (loop)
    for (const Reach *each : {&reach, &otherReach})
      if (!isInvariant(each->first, *loop) ||
          std::any_of(each->last.begin(), each->last.end(),
                      [&](const Affine &last) { return !isInvariant(last, *loop); }))
        return false;
  return comesBefore(reach, otherReach) || comesBefore(otherReach, reach);
}

bool SliceOverlap::areApart(const ir::Op &one, const ir::Op &other, const ir::Op *loop) {
  for (size_t dim = 0; dim < one.view.indices.size(); ++dim)
    if (areApart(one, other, dim, loop))
      return true;
  return false;
}

/// Tiles of one size whose beginnings are a multiple of it apart are the same or have nothing in common.
bool SliceOverlap::isAligned(const ir::Op &one, const ir::Op &other, size_t dim, const ir::Op *loop) {
  const ViewIndex &index = one.view.indices[dim], &otherIndex = other.view.indices[dim];
  if (index.kind == ViewIndex::Gather || otherIndex.kind == ViewIndex::Gather)
    return false;
  if (index.kind == ViewIndex::Element || otherIndex.kind == ViewIndex::Element)
    return index.kind == otherIndex.kind;
  Start start = startOf(one, index), otherStart = startOf(other, otherIndex);
  if (start.extent != otherStart.extent || index.divisor != otherIndex.divisor)
    return false;
  for (Affine *base : {&start.base, &otherStart.base}) {
    base->constant %= start.extent;
    base->constant += base->constant < 0 ? start.extent : 0;
    std::erase_if(base->terms, [&](const Affine::Term &term) { return term.second % start.extent == 0; });
  }
  return start.base.valid && start.base == otherStart.base && (!loop || isInvariant(start.base, *loop));
}

bool SliceOverlap::areAligned(const ir::Op &one, const ir::Op &other, const ir::Op *loop) {
  for (size_t dim = 0; dim < one.view.indices.size(); ++dim)
    if (!isAligned(one, other, dim, loop))
      return false;
  return true;
}

} // namespace tkc::planner
