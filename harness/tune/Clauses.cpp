// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/tune/Clauses.h"

#include "frontend/Formatter.h"
#include "support/Diagnostics.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <optional>
#include <set>

namespace tkc::tune {
namespace {

/// A schedule serves a shape if it is so near to its best.
constexpr double nearEnough = 0.99;
/// What is less faster than this than the file's own schedule is not worth a line.
constexpr double leastGain = 1.01;

double ratioOf(const Search &search, const Built &candidate, size_t shape, const std::string &gpu) {
  const Measurement *measured = search.find(candidate, shape, gpu);
  return measured && measured->passed ? measured->ratio : 0;
}

/// Of each shape a candidate, few different ones in all; null where the file's own schedules are as good.
std::vector<const Built *> choose(const Search &search, const std::string &gpu) {
  const size_t count = search.subject().shapes.size();
  std::vector<const Built *> choice(count);
  std::vector<bool> isOpen(count);
  std::vector<double> wanted(count);
  std::vector<const Built *> all;
  for (size_t shape = 0; shape < count; ++shape) {
    const std::vector<Timed> timed = search.timed(shape, gpu);
    isOpen[shape] = !timed.empty() && timed.front().measured->ratio >= leastGain;
    wanted[shape] = timed.empty() ? 0 : std::max(leastGain, timed.front().measured->ratio * nearEnough);
    for (const Timed &one : timed)
      if (std::find(all.begin(), all.end(), one.candidate) == all.end())
        all.push_back(one.candidate);
  }
  // Of those that serve as much as well, but for noise, the one that says least.
  std::stable_sort(all.begin(), all.end(),
                   [](const Built *a, const Built *b) { return a->settings.size() < b->settings.size(); });
  while (std::count(isOpen.begin(), isOpen.end(), true) > 0) {
    const Built *chosen = nullptr;
    std::pair<int, double> most{0, 0};
    for (const Built *candidate : all) {
      std::pair<int, double> served{0, 0};
      for (size_t shape = 0; shape < count; ++shape)
        if (const double ratio = ratioOf(search, *candidate, shape, gpu); isOpen[shape] && ratio >= wanted[shape]) {
          ++served.first;
          served.second += ratio / wanted[shape];
        }
      if (served.first > most.first || (served.first == most.first && served.second > most.second * (1 + noise)))
        chosen = candidate, most = served;
    }
    if (!chosen) // the best of these is hardly faster than the file's own
      break;
    for (size_t shape = 0; shape < count; ++shape)
      if (isOpen[shape] && ratioOf(search, *chosen, shape, gpu) >= wanted[shape])
        choice[shape] = chosen, isOpen[shape] = false;
  }
  return choice;
}

/// Something by which calls differ: "M", "M * N".
struct Feature {
  std::string text;
  std::vector<int64_t> values; ///< of each shape
};

/// The product of these dims of each shape; nothing where that is no number of 64 bits.
std::optional<Feature> featureOf(const Work &work, const std::set<std::string> &symbols) {
  Feature feature{fmt::format("{}", fmt::join(symbols, " * ")), {}};
  for (const Shape &shape : work.shapes) {
    int64_t value = 1;
    for (const std::string &symbol : symbols)
      if (__builtin_mul_overflow(value, shape.prepared.arguments.symbols.at(symbol), &value))
        return std::nullopt;
    feature.values.push_back(value);
  }
  return feature;
}

std::vector<Feature> featuresOf(const Work &work) {
  std::vector<std::set<std::string>> products;
  for (const std::string &symbol : work.kernel->signature.symbols)
    products.push_back({symbol});
  for (const ir::Param &param : work.kernel->signature.params) {
    std::set<std::string> symbols;
    for (const ir::DimExpr &dim : param.dims)
      if (dim.kind == ir::DimExpr::Symbol)
        symbols.insert(dim.symbol);
    if (param.isTensor && param.mode != ir::ParamMode::In && symbols.size() > 1)
      products.push_back(std::move(symbols));
  }
  products.emplace_back(work.kernel->signature.symbols.begin(), work.kernel->signature.symbols.end());
  std::vector<Feature> features;
  for (const std::set<std::string> &symbols : products)
    if (std::optional<Feature> feature = featureOf(work, symbols))
      features.push_back(std::move(*feature));
  return features;
}

/// A number from `below` to under `above`: a power of two near their geometric mean, where there is one.
int64_t thresholdBetween(int64_t below, int64_t above) {
  const double middle = std::log2(static_cast<double>(below)) / 2 + std::log2(static_cast<double>(above)) / 2;
  const auto power = static_cast<int64_t>(std::exp2(std::round(middle)));
  return power >= below && power < above ? power : below;
}

/// Clauses that ascend along a feature; none where it does not tell the choices apart.
std::vector<Clause> clausesAlong(const Feature &feature, const std::vector<const Built *> &choice) {
  std::vector<size_t> order(choice.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return feature.values[a] < feature.values[b]; });
  std::vector<Clause> clauses;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && choice[order[i]] == choice[order[i - 1]]) {
      clauses.back().shapes.push_back(order[i]);
      continue;
    }
    if (i > 0) {
      const int64_t below = feature.values[order[i - 1]], above = feature.values[order[i]];
      if (below == above)
        return {};
      clauses.back().condition = fmt::format("{} <= {}", feature.text, thresholdBetween(below, above));
    }
    clauses.push_back({"", choice[order[i]], {order[i]}});
  }
  return clauses;
}

bool isConstant(const Work &work, const std::string &symbol) {
  const auto &constants = work.specialization.constants;
  return std::any_of(constants.begin(), constants.end(), [&](const auto &one) { return one.first == symbol; });
}

int64_t dimOf(const Work &work, size_t shape, const std::string &symbol) {
  return work.shapes[shape].prepared.arguments.symbols.at(symbol);
}

/// Whether each dim is as that of `like`, but for a quarter.
bool isLike(const Work &work, size_t shape, size_t like) {
  const std::vector<std::string> &symbols = work.kernel->signature.symbols;
  return std::all_of(symbols.begin(), symbols.end(), [&](const std::string &symbol) {
    const int64_t dim = dimOf(work, shape, symbol), of = dimOf(work, like, symbol);
    return dim >= of - of / 4 && dim <= of + of / 4;
  });
}

/// The same as a condition; or that the dims are those of the shape.
std::string likeShape(const Work &work, size_t shape, bool exactly) {
  std::vector<std::string> parts;
  for (const std::string &symbol : work.kernel->signature.symbols) {
    if (isConstant(work, symbol)) // the specialisation says it
      continue;
    const int64_t dim = dimOf(work, shape, symbol);
    parts.push_back(exactly ? fmt::format("{} == {}", symbol, dim)
                            : fmt::format("{0} >= {1} and {0} <= {2}", symbol, dim - dim / 4, dim + dim / 4));
  }
  return fmt::format("{}", fmt::join(parts, " and "));
}

/// A clause for calls that are like each shape, where the file's own schedules are as good for others as any.
std::vector<Clause> clausesOfShapes(const Work &work, const std::vector<const Built *> &choice) {
  std::vector<Clause> clauses;
  for (size_t i = 0; i < choice.size(); ++i) {
    if (!choice[i])
      continue;
    bool reachesOthers = false;
    for (size_t other = 0; other < choice.size(); ++other)
      reachesOthers |= choice[other] != choice[i] && isLike(work, other, i);
    clauses.push_back({likeShape(work, i, reachesOthers), choice[i], {i}});
  }
  return clauses;
}

/// "T == bf16 and D == 64 and not causal"
std::vector<std::string> conditionsOf(const Specialization &specialization) {
  std::vector<std::string> parts;
  for (const auto &[name, type] : specialization.typeArgs)
    parts.push_back(fmt::format("{} == {}", name, spelling(type)));
  for (const auto &[name, value] : specialization.constants)
    parts.push_back(!specialization.bools.count(name) ? fmt::format("{} == {}", name, value)
                    : value                           ? name
                                                      : "not " + name);
  return parts;
}

/// Types of which the kernel has one, and so on, are no choice.
bool isOnlyOne(const Signature &signature) {
  return std::all_of(signature.typeParams.begin(), signature.typeParams.end(),
                     [](const auto &param) { return param.second.size() == 1; }) &&
         signature.dimChoices.empty() && signature.consts.empty();
}

std::string figures(const Search &search, const Clause &clause, const std::string &gpu) {
  std::string text;
  for (const size_t shape : clause.shapes) {
    const Measurement &measured = *search.find(*clause.candidate, shape, gpu);
    const Shape &of = search.subject().shapes[shape];
    const double operations = of.operations / measured.seconds / 1e12, bytes = of.bytes / measured.seconds / 1e9;
    text += fmt::format(
        "//   {}: {:.2f} µs, {}, {:.3f} [{:.3f}, {:.3f}]\n", of.prepared.description, measured.seconds * 1e6,
        of.operations > 0 ? fmt::format("{:.1f} TFLOP/s", operations) : fmt::format("{:.0f} GB/s", bytes),
        measured.ratio, measured.low, measured.high);
  }
  return text;
}

} // namespace

std::vector<Clause> findClauses(const Search &search, const std::string &gpu) {
  const std::vector<const Built *> choice = choose(search, gpu);
  if (std::all_of(choice.begin(), choice.end(), [](const Built *one) { return !one; }))
    return {};
  std::vector<Clause> fewest;
  if (std::find(choice.begin(), choice.end(), nullptr) == choice.end())
    for (const Feature &feature : featuresOf(search.subject()))
      if (std::vector<Clause> clauses = clausesAlong(feature, choice);
          !clauses.empty() && (fewest.empty() || clauses.size() < fewest.size()))
        fewest = std::move(clauses);
  return fewest.empty() ? clausesOfShapes(search.subject(), choice) : fewest;
}

std::string printSchedules(const std::vector<std::unique_ptr<Search>> &searches, const std::string &gpu,
                           const std::string &archName, const std::string &fileName) {
  std::string text;
  for (const auto &search : searches) {
    const Work &work = search->subject();
    const std::vector<std::string> always =
        isOnlyOne(work.kernel->signature) ? std::vector<std::string>() : conditionsOf(work.specialization);
    for (const Clause &clause : findClauses(*search, gpu)) {
      std::vector<std::string> parts = always;
      if (!clause.condition.empty())
        parts.push_back(clause.condition);
      const Settings settings = clause.candidate->settings;
      text +=
          fmt::format("\n{}schedule {} for {}{} {{ {} }}\n", figures(*search, clause, gpu), work.kernel->signature.name,
                      archName, parts.empty() ? "" : fmt::format(" when {}", fmt::join(parts, " and ")),
                      settings.empty() ? "" : work.describe(settings));
    }
  }
  if (text.empty())
    return text;
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  const std::string whole = fmt::format("// Schedules of {} for {}, found by `tkc tune`. Behind each shape: its time, "
                                        "and how many times faster that is\n"
                                        "// than with the schedules of {}: the median ratio of calls in turns, with "
                                        "its deciles; L2 flushed before each.\n",
                                        fileName, gpu, fileName) +
                            text;
  return format(sources.addBuffer("found.tks", whole), diagnostics).value_or(whole);
}

} // namespace tkc::tune
