// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/plan/analysis/LoopSteps.h"

#include "ir/Effects.h"

#include <algorithm>

namespace tkc::planner {

using ir::Affine;
using ir::Atom;

bool LoopSteps::isInvariant(const Affine &form, const ir::Op &loop) const {
  return form.valid && std::all_of(form.terms.begin(), form.terms.end(), [&](const Affine::Term &term) {
           const Atom &atom = ranges.atom(term.first);
           return (!atom.value || !ir::isDefinedIn(atom.value, loop.body())) && isInvariant(atom.lhs, loop) &&
                  isInvariant(atom.rhs, loop);
         });
}

std::optional<LoopSteps::Step> LoopSteps::stepOf(const Affine &form, const ir::Op &loop) {
  const ir::Value *induction = loop.body().args[0].get();
  Step step;
  step.rest = form;
  for (const auto &[id, coefficient] : form.terms) {
    const Atom &atom = ranges.atom(id);
    if (atom.value != induction)
      continue;
    Affine start;
    int64_t size = 1;
    if (atom.kind == Atom::Begin || (atom.kind == Atom::Scalar && loop.tileSize == 0))
      start = ranges.formOf(ir::RangeAnalysis::rangeOf(induction).first);
    else if (atom.kind != Atom::Index)
      return std::nullopt;
    if (atom.kind == Atom::Begin)
      size = loop.tileSize;
    step.by += coefficient * size;
    std::erase(step.rest.terms, Affine::Term(id, coefficient));
    step.rest = step.rest + start * coefficient;
  }
  return isInvariant(step.rest, loop) ? std::optional(step) : std::nullopt;
}

bool LoopSteps::hasOneTile(const ir::Op &loop) {
  if (loop.tileSize == 0)
    return false;
  const auto [lo, hi] = ir::RangeAnalysis::rangeOf(loop.body().args[0].get());
  return ranges.isNonNegative(ranges.formOf(lo) + loop.tileSize - ranges.formOf(hi));
}

/// Proofs speak of tiles that exist. If a tile of one begins a whole tile behind that of the other, and less than that
/// as well, there are no two.
bool LoopSteps::areExclusive(const ir::Op &one, const ir::Op &other) {
  if (one.tileSize == 0 || one.tileSize != other.tileSize)
    return false;
  const int64_t size = one.tileSize;
  const Affine first = ranges.beginOf(one.body().args[0].get()), second = ranges.beginOf(other.body().args[0].get());
  const auto areBoth = [&](const Affine &distance) {
    return ranges.isNonNegative(distance - size) && ranges.isNonNegative(distance * -1 + (size - 1));
  };
  return areBoth(second - first) || areBoth(first - second);
}

} // namespace tkc::planner
