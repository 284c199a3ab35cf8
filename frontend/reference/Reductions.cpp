// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums, products and extrema over an index. Two ways: *step* through the index while every lane has its own running
// total, which is best where there are many lanes; or make the index itself the lane, one outer lane after another.
#include "frontend/reference/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace tkc::reference {
namespace {

/// The running total of one lane. An error counts what the terms bring and what adding them up costs: a running sum of
/// n terms errs by about √n·u·Σ|term| where they differ, and by up to n/2·u·Σ|term| where they are equal, since then
/// their roundings are equal, too, and the sum is half as large as in the end, on average (docs/numerics.md).
struct Total {
  double value, error = 0, magnitude = 0;
  double roundings = 0; ///< of a sum: the squares of how many in a row are equal, added up
  double growth = 0;    ///< of a sum: these squares times what the equal terms add up to, added up
  double last = 0, equal = 0;

  explicit Total(Reduction kind) {
    switch (kind) {
    case Reduction::Sum:
      value = 0;
      break;
    case Reduction::Prod:
      value = 1;
      break;
    case Reduction::Max:
      value = -INFINITY;
      break;
    case Reduction::Min:
      value = INFINITY;
      break;
    }
  }

  /// What adds zero does not round, and leaves the roundings before and after it as equal as they are.
  void countRounding(double term, double within, double size, double growthWithin) {
    if (size == 0) {
      roundings += within;
      return;
    }
    equal = term == last ? equal + 1 : 1;
    last = term;
    roundings += (2 * equal - 1) * within;                        // n² − (n − 1)²
    growth += (3 * equal * equal - 3 * equal + 1) * growthWithin; // n³ − (n − 1)³
  }

  /// A term that is itself a sum has the roundings `within` it, its terms' `size`, and its growth: kernels may add
  /// those up in any order.
  void add(Reduction kind, double term, double termError, double within, double size, double growthWithin) {
    switch (kind) {
    case Reduction::Sum:
      countRounding(term, within, size, growthWithin);
      value += term;
      error += termError;
      magnitude += size;
      break;
    case Reduction::Prod:
      error = error * std::fabs(term) + termError * std::fabs(value);
      value *= term;
      magnitude = std::fabs(value);
      break;
    case Reduction::Max:
      value = std::fmax(value, term);
      error = std::fmax(error, termError);
      break;
    case Reduction::Min:
      value = std::fmin(value, term);
      error = std::fmax(error, termError);
      break;
    }
  }

  /// Of a sum, for how many roundings of its magnitude its own count. Equal terms that add up to s find a running sum
  /// that is smaller by s/2, on average: (1 − s/2)² ≤ 1 − ¾ s, where all terms add up to 1.
  double countedRoundings() const {
    return std::sqrt(magnitude > 0 ? roundings - 0.75 * growth / magnitude : roundings);
  }

  double finalError(Reduction kind, double count, const ErrorModel &model) const {
    switch (kind) {
    case Reduction::Sum:
      return std::isfinite(value) ? error + (2 + countedRoundings()) * model.accumulate * magnitude : 0;
    case Reduction::Prod:
      return std::isfinite(value) ? error + count * model.compute * magnitude : 0;
    case Reduction::Max:
    case Reduction::Min:
      return std::isfinite(value) ? error : 0;
    }
    return 0;
  }
};

/// Integers have no infinities: over nothing their extrema are the ends of their type.
int64_t ofNoIntegers(Reduction kind, bool isWide) {
  switch (kind) {
  case Reduction::Sum:
    return 0;
  case Reduction::Prod:
    return 1;
  case Reduction::Max:
    return isWide ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  case Reduction::Min:
    return isWide ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
  }
  return 0;
}

int64_t addInteger(Reduction kind, int64_t total, int64_t term) {
  switch (kind) {
  case Reduction::Sum:
    return static_cast<int64_t>(static_cast<uint64_t>(total) + static_cast<uint64_t>(term)); // which wraps
  case Reduction::Prod:
    return static_cast<int64_t>(static_cast<uint64_t>(total) * static_cast<uint64_t>(term));
  case Reduction::Max:
    return std::max(total, term);
  case Reduction::Min:
    return std::min(total, term);
  }
  return total;
}

/// Running sums of terms without errors of their own but relative ones: the common case, in loops that vectorise. They
/// count how often a term equals the one before it, and not how long the rows of equal terms are, which takes as long
/// as all the rest.
struct PlainSums {
  double values[maxLanes] = {}, magnitudes[maxLanes] = {};
  double last[maxLanes] = {}, repeats[maxLanes] = {};
  double count = 0;    ///< of terms
  double relative = 0; ///< the largest among the terms

  void add(const Floats &terms, int lanes) {
    relative = std::max(relative, terms.relative);
    ++count;
    if (terms.stride == 0)
      addTerms<0>(terms.values, lanes);
    else
      addTerms<1>(terms.values, lanes);
  }

  /// What Total::roundings would be if all rows of equal terms had two of them. That is within 6 % of it, unless
  /// `repeatsMatter`: with r² ≤ n/16 repeats it lies between n + 2r and n + r² + r.
  double roundings(int lane) const { return count + 2 * repeats[lane]; }
  bool repeatsMatter(int lane) const { return repeats[lane] * repeats[lane] > count / 16; }

private:
  template <int Stride> void addTerms(const double *terms, int lanes) {
    for (int i = 0; i < lanes; ++i) {
      const double term = terms[i * Stride];
      values[i] += term;
      magnitudes[i] += std::fabs(term);
      repeats[i] += term == last[i] && term != 0 ? 1 : 0;
      last[i] = term != 0 ? term : last[i];
    }
  }
};

} // namespace

/// The range of a reduction; its bounds do not depend on the lane, or there is only one.
std::pair<int64_t, int64_t> Evaluator::range(const Node &node) {
  if (node.children.size() == 1) {
    const Variable &variable = equation.variables[node.variable];
    return {variable.lo, variable.hi};
  }
  const int64_t lo = integers(*node.children[1]).values[0];
  const int64_t hi = integers(*node.children[2]).values[0];
  return {lo, std::max(lo, hi)};
}

bool Evaluator::boundsAreUniform(const Node &node) const {
  return node.children.size() == 1 || (isUniform(*node.children[1]) && isUniform(*node.children[2]));
}

/// Calls `visit(lane)` with each lane on its own.
template <class Visit> void Evaluator::forEachLane(Visit visit) {
  const Lanes all = lanes;
  for (int i = 0; i < all.count && !failed; ++i) {
    if (all.variable >= 0)
      variables[all.variable] = all.values[i];
    lanes = Lanes{};
    visit(i);
  }
  lanes = all;
}

/// The index as the lane: calls `sum(count)` for each chunk of it.
template <class T, class Sum> void Evaluator::reduceAcross(const Node &node, int64_t lo, int64_t hi, Sum sum) {
  const Lanes outer = lanes;
  int64_t *values = lanesOf(node);
  for (int64_t begin = lo; begin < hi && !failed; begin += maxLanes) {
    const int count = static_cast<int>(std::min<int64_t>(maxLanes, hi - begin));
    std::iota(values, values + count, begin);
    lanes = {node.variable, values, count, true};
    sum(count);
  }
  lanes = outer;
}

Floats Evaluator::reduceFloats(const Node &node) {
  const Reduction kind = node.reduction;
  const Node &body = *node.children[0];
  double *values = valuesOf(node), *errors = errorsOf(node);
  double *roundings = errors && kind == Reduction::Sum ? roundingsOf(node) : nullptr;
  double *magnitudes = roundings ? magnitudesOf(node) : nullptr;
  double *growths = roundings ? growthsOf(node) : nullptr;
  const Floats result{values, errors, isUniform(node) ? 0 : 1, 0, roundings, magnitudes, growths};
  const auto finish = [&](int lane, const Total &total, int64_t terms) {
    values[lane] = total.value;
    if (errors)
      errors[lane] = total.finalError(kind, static_cast<double>(terms), *errorModel);
    if (roundings)
      roundings[lane] = total.roundings, magnitudes[lane] = total.magnitude, growths[lane] = total.growth;
  };
  const auto across = [&](int lane) {
    const auto [lo, hi] = range(node);
    Total total(kind);
    reduceAcross<double>(node, lo, hi, [&](int count) {
      const Floats terms = floats(body);
      for (int i = 0; i < count; ++i)
        total.add(kind, terms.values[i * terms.stride], terms.errorAt(i), terms.roundingsAt(i), terms.magnitudeAt(i),
                  terms.growthAt(i));
    });
    finish(lane, total, hi - lo);
  };
  if (isUniform(node)) {
    const Lanes outer = lanes;
    lanes = Lanes{};
    across(0);
    lanes = outer;
    return result;
  }
  if (!boundsAreUniform(node) || lanes.count < 8) {
    forEachLane(across);
    return result;
  }
  const auto [lo, hi] = range(node);
  std::vector<Total> totals(lanes.count, Total(kind));
  PlainSums plain;
  for (int64_t i = lo; i < hi && !failed; ++i) {
    variables[node.variable] = i;
    const Floats terms = floats(body);
    if (kind == Reduction::Sum && !terms.errors) {
      plain.add(terms, lanes.count);
      continue;
    }
    for (int lane = 0; lane < lanes.count; ++lane)
      totals[lane].add(kind, terms.values[lane * terms.stride], terms.errorAt(lane), terms.roundingsAt(lane),
                       terms.magnitudeAt(lane), terms.growthAt(lane));
  }
  const bool areEqual = !(body.variables >> node.variable & 1);
  for (int lane = 0; kind == Reduction::Sum && lane < lanes.count; ++lane) {
    totals[lane].value += plain.values[lane];
    totals[lane].magnitude += plain.magnitudes[lane];
    totals[lane].error += plain.relative * plain.magnitudes[lane];
    totals[lane].roundings += areEqual ? plain.count * plain.count : plain.roundings(lane);
    totals[lane].growth += (areEqual ? plain.count * plain.count : 1) * plain.magnitudes[lane];
  }
  forEachLane([&](int lane) {
    if (!areEqual && plain.repeatsMatter(lane))
      across(lane);
    else
      finish(lane, totals[lane], hi - lo);
  });
  return result;
}

Integers Evaluator::reduceIntegers(const Node &node) {
  const Node &body = *node.children[0];
  int64_t *values = integersOf(node);
  const auto across = [&](int lane) {
    const auto [lo, hi] = range(node);
    std::optional<int64_t> total; // which is that of the first term: it may lie beyond i32 where its type does not
    reduceAcross<int64_t>(node, lo, hi, [&](int count) {
      const Integers terms = integers(body);
      for (int i = 0; i < count; ++i) {
        const int64_t term = terms.values[i * terms.stride];
        total = total ? addInteger(node.reduction, *total, term) : term;
      }
    });
    values[lane] = total.value_or(ofNoIntegers(node.reduction, node.isWide));
  };
  if (isUniform(node)) {
    const Lanes outer = lanes;
    lanes = Lanes{};
    across(0);
    lanes = outer;
    return {values, 0};
  }
  forEachLane(across);
  return {values, 1};
}

} // namespace tkc::reference
