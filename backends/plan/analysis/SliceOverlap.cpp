// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two slices are apart if they are so along one dim, and aligned if they are so along every dim. Of one moment, what
// RangeAnalysis proves of their ends decides. Between iterations of a loop it may speak only of what the loop leaves
// alone; else indices must go on by a step of the loop that is as long as the slices:
//   for k in tiles(0, K, 32) { … h[m, k] … h[m, k] = … }     of different k: 32 columns each, 32 apart
// or both slices must lie in what a loop goes on by.
#include "backends/plan/analysis/SliceOverlap.h"

#include "ir/Effects.h"

#include <algorithm>
#include <cstdlib>

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

/// base + step · i and another base + step · j with i ≠ j, where only i is the loop's. A step may be negative.
bool SliceOverlap::areStepsApart(const Start &one, const Start &other, const ir::Op &loop) {
  const ir::Value *induction = loop.body().args[0].get();
  const auto stepOf = [&](const Start &start) {
    std::optional<LoopSteps::Step> step = steps.stepOf(start.base, loop);
    if (step && start.root)
      step->by += start.step;
    return !start.root || start.root == induction ? step : std::nullopt;
  };
  const std::optional<LoopSteps::Step> step = stepOf(one), otherStep = stepOf(other);
  if (!step || !otherStep || step->by == 0 || step->by != otherStep->by)
    return false;
  const Affine between = otherStep->rest - step->rest;
  const int64_t distance = std::abs(step->by);
  return between.isConstant() && distance + between.constant >= one.extent &&
         distance - between.constant >= other.extent;
}

/// Whether both lie in a window that the loop moves by its length, as tiles of an inner loop over 64 elements do:
///   for i in 0..count { let from = (count - 1 - i) * 64; for t in tiles(from, min(N, from + 64), 64) { … } }
/// `begin`: where one of them may begin. Of the larger of two, as the last part of a split loop begins with, either may
/// be the window's begin.
bool SliceOverlap::areInWindow(const Affine &begin, const Reach &one, const Reach &other, const ir::Op &loop) {
  for (const auto &[id, coefficient] : begin.terms) {
    const ir::Atom &atom = ranges.atom(id);
    if (atom.kind != ir::Atom::Max || coefficient != 1)
      continue;
    Affine rest = begin;
    std::erase(rest.terms, Affine::Term(id, coefficient));
    return areInWindow(rest + atom.lhs, one, other, loop) || areInWindow(rest + atom.rhs, one, other, loop);
  }
  const std::optional<LoopSteps::Step> step = steps.stepOf(begin, loop);
  if (!step || step->by == 0)
    return false;
  const Affine last = begin + (std::abs(step->by) - 1);
  const auto liesIn = [&](const Reach &reach) {
    return ranges.isNonNegative(reach.first - begin) &&
           std::any_of(reach.last.begin(), reach.last.end(),
                       [&](const Affine &end) { return ranges.isNonNegative(last - end); });
  };
  return liesIn(one) && liesIn(other);
}

bool SliceOverlap::areApart(const ir::Op &one, const ir::Op &other, size_t dim, const ir::Op *loop) {
  const ViewIndex &index = one.view.indices[dim], &otherIndex = other.view.indices[dim];
  if (index.kind == ViewIndex::Gather || otherIndex.kind == ViewIndex::Gather)
    return false;
  const Start start = startOf(one, index), otherStart = startOf(other, otherIndex);
  const Reach reach = reachOf(one, index), otherReach = reachOf(other, otherIndex);
  if (loop && (areStepsApart(start, otherStart, *loop) || areInWindow(start.base, reach, otherReach, *loop) ||
               areInWindow(otherStart.base, reach, otherReach, *loop)))
    return true;
  if (loop)
    for (const Reach *each : {&reach, &otherReach})
      if (!steps.isInvariant(each->first, *loop) ||
          std::any_of(each->last.begin(), each->last.end(),
                      [&](const Affine &last) { return !steps.isInvariant(last, *loop); }))
        return false;
  return comesBefore(reach, otherReach) || comesBefore(otherReach, reach);
}

/// Loops around one of the two alone, of which an iteration of the shared ones has either.
bool SliceOverlap::areExclusive(const ir::Op &one, const ir::Op &other) {
  for (const ir::Op *loop : loopsAround(one))
    for (const ir::Op *otherLoop : loopsAround(other))
      if (!ir::isWithin(other.parent, loop->body()) && !ir::isWithin(one.parent, otherLoop->body()) &&
          steps.areExclusive(*loop, *otherLoop))
        return true;
  return false;
}

bool SliceOverlap::areApart(const ir::Op &one, const ir::Op &other, const ir::Op *loop) {
  if (loop ? steps.hasOneTile(*loop) : areExclusive(one, other))
    return true;
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
  return start.base.valid && start.base == otherStart.base && (!loop || steps.isInvariant(start.base, *loop));
}

bool SliceOverlap::areAligned(const ir::Op &one, const ir::Op &other, const ir::Op *loop) {
  for (size_t dim = 0; dim < one.view.indices.size(); ++dim)
    if (!isAligned(one, other, dim, loop))
      return false;
  return true;
}

} // namespace tkc::planner
