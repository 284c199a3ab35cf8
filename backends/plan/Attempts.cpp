// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys come first, since they leave the tiles as they are. Tunes are halved along two roads: every combination of few
// halvings, since the one with the fewest loses the least, and then ever further ones, the largest tune first, since
// a plan that is far over its budget fits only at the end of that road: there with those who compute sharing columns,
// too, as wide tiles of few rows ask for.
#include "backends/plan/Attempts.h"

#include "ir/Products.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

namespace tkc::planner {
namespace {

using Tunes = std::vector<std::pair<std::string, int64_t>>;

constexpr int mostHalvings = 2;          ///< of which every combination is tried
constexpr int64_t fewestOfProducts = 16; ///< fewer rows or columns save nothing: instructions have so many
constexpr size_t mostCombinations = 6;   ///< of halvings
constexpr int64_t mostClaimed = 248;     ///< by setmaxnreg, in eights below the 255 that an instruction can name

struct Products {
  bool any = false, byGroups = false, byWarps = false;
};

/// `now` with one more change, which takes the place of what `now` says of its name.
Attempt with(Attempt now, const Setting &change) {
  const auto same = std::find_if(now.begin(), now.end(), [&](const Setting &it) { return it.name == change.name; });
  if (same == now.end())
    now.push_back(change);
  else
    *same = change;
  return now;
}

Products productsOf(ir::Function &function, const arch::Description &arch) {
  Products found;
  ir::walk(function.body, [&](const ir::Op &op) {
    if (!ir::isProduct(op))
      return;
    const arch::MatrixInstruction *instruction =
        arch.findMatrixInstruction(ir::factorOf(op, 0)->type.elem, ir::factorOf(op, 1)->type.elem);
    const bool group =
        instruction ? instruction->issuer == arch::Issuer::Warpgroup || instruction->issuer == arch::Issuer::Thread
                    : arch.warpsPerGroup > 1;
    found.any = true;
    found.byGroups |= group;
    found.byWarps |= !group;
  });
  return found;
}

/// Half of it, as a multiple of 8 where it is that large.
std::optional<int64_t> halfOf(int64_t tune, int64_t fewest) {
  const int64_t half = tune / 2 < 8 ? tune / 2 : (tune / 2 + 7) / 8 * 8;
  return half >= fewest && half < tune ? std::optional(half) : std::nullopt;
}

/// `now`, where it is not what it was.
Attempt changesOf(const Tunes &now, const Tunes &before) {
  Attempt result;
  for (size_t i = 0; i < now.size(); ++i)
    if (now[i].second != before[i].second)
      result.push_back({now[i].first, now[i].second, true});
  return result;
}

class Halvings {
public:
  /// `fewest`: what a tune is not halved below.
  Halvings(const Tunes &tunes, const std::set<std::string> &fixed, int64_t fewest) : before(tunes), fewest(fewest) {
    for (size_t i = 0; i < tunes.size(); ++i)
      if (!fixed.count(tunes[i].first))
        free.push_back(i);
    // The largest gives the most.
    std::stable_sort(free.begin(), free.end(), [&](size_t a, size_t b) { return tunes[a].second > tunes[b].second; });
  }

  std::vector<Attempt> few() {
    for (int halvings = 1; halvings <= mostHalvings; ++halvings)
      combine(before, 0, halvings);
    if (result.size() > mostCombinations)
      result.resize(mostCombinations);
    return std::move(result);
  }

  std::vector<Attempt> many() {
    for (Tunes now = before; halveLargest(now);)
      add(now);
    return std::move(result);
  }

private:
  void combine(const Tunes &now, size_t from, int halvings) {
    if (halvings == 0)
      return add(now);
    for (size_t at = from; at < free.size(); ++at)
      if (const std::optional<int64_t> half = halfOf(now[free[at]].second, fewest)) {
        Tunes next = now;
        next[free[at]].second = *half;
        combine(next, at, halvings - 1);
      }
  }

  bool halveLargest(Tunes &now) const {
    const auto largest =
        std::max_element(free.begin(), free.end(), [&](size_t a, size_t b) { return now[a].second < now[b].second; });
    const std::optional<int64_t> half = largest == free.end() ? std::nullopt : halfOf(now[*largest].second, fewest);
    if (half)
      now[*largest].second = *half;
    return half.has_value();
  }

  void add(const Tunes &now) {
    Attempt attempt = changesOf(now, before);
    if (std::find(result.begin(), result.end(), attempt) == result.end())
      result.push_back(std::move(attempt));
  }

  const Tunes &before;
  const int64_t fewest;
  std::vector<size_t> free; ///< places of tunes that may change, those of large ones first
  std::vector<Attempt> result;
};

/// More of those who compute have smaller shares, fewer of them whole ones.
std::vector<Setting> keySettings(const Products &products) {
  std::vector<Setting> result;
  const auto add = [&](const char *key, std::initializer_list<int64_t> values) {
    for (const int64_t value : values)
      result.push_back({key, value});
  };
  if (products.any)
    add("stages", {1});
  if (products.byGroups)
    add("warpgroups", {2, 1, 3, 4});
  if (products.byWarps)
    add("warps", {8, 16, 4});
  if (products.any)
    add("overlap", {0});
  else
    add("warps", {16, 32, 8});
  return result;
}

} // namespace

bool Setting::isWrittenSize() const { return std::isdigit(static_cast<unsigned char>(name.front())) != 0; }

std::string spelling(const Attempt &attempt) {
  std::vector<std::string> parts;
  for (const Setting &setting : attempt)
    parts.push_back(setting.isWrittenSize() ? fmt::format("tiles of {} instead of {}", *setting.value, setting.name)
                    : setting.value         ? fmt::format("`{} = {}`", setting.name, *setting.value)
                                            : fmt::format("no `{}`", setting.name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Attempt> attempts(ir::Function &function, const arch::Description &arch, const Tunes &tunes,
                              const std::set<std::string> &fixed) {
  std::vector<Attempt> result;
  const Products products = productsOf(function, arch);
  for (Setting &setting : keySettings(products))
    if (!fixed.count(setting.name))
      result.push_back({std::move(setting)});
  const auto add = [&](Attempt attempt) {
    if (std::find(result.begin(), result.end(), attempt) == result.end())
      result.push_back(std::move(attempt));
  };
  const int64_t fewest = products.any ? fewestOfProducts : 1;
  for (const Attempt &attempt : Halvings(tunes, fixed, fewest).few())
    add(attempt);
  const std::vector<Setting> sharers = !products.any ? std::vector<Setting>{}
                                       : products.byGroups
                                           ? std::vector<Setting>{{"warpgroups", 2}}
                                           : std::vector<Setting>{{"warps", 8}, {"warps", 4}, {"warps", 2}};
  for (const Attempt &attempt : Halvings(tunes, fixed, fewest).many()) {
    add(attempt);
    for (const Setting &setting : sharers)
      if (!fixed.count(setting.name)) {
        Attempt both = attempt;
        both.push_back(setting);
        add(std::move(both));
      }
  }
  // The computing warpgroups take what the loading one has for its threads' copies, which spill then.
  if (products.byGroups && !fixed.count("producer_registers") && !fixed.count("consumer_registers"))
    add({{"producer_registers", 40}, {"consumer_registers", 232}});
  return result;
}

std::vector<Attempt> memorySavings(ir::Function &function, const arch::Description &arch,
                                   const std::set<std::string> &fixed) {
  const Setting share{"share", 1}, late{"late_copies", 1}, latest{"late_copies", 2};
  if (!productsOf(function, arch).any || fixed.count(share.name))
    return {};
  if (arch.hasTransactionBarriers || fixed.count(late.name) || fixed.count("stages"))
    return {{share}};
  return {{share}, {share, late}, {share, latest}};
}

std::vector<Setting> nextChanges(ir::Function &function, const arch::Description &arch, const Tunes &tunes,
                                 const std::set<std::string> &fixed, const Attempt &now) {
  std::vector<Setting> result;
  const Products products = productsOf(function, arch);
  for (Setting &setting : keySettings(products))
    if (!fixed.count(setting.name) && std::find(now.begin(), now.end(), setting) == now.end())
      result.push_back(std::move(setting));
  const Setting most{"consumer_registers", mostClaimed};
  if (products.byGroups && arch.hasRegisterReallocation && !fixed.count(most.name) &&
      std::find(now.begin(), now.end(), most) == now.end())
    result.push_back(most);
  for (const auto &[name, before] : tunes) {
    const std::string &tune = name;
    const auto changed = std::find_if(now.begin(), now.end(), [&](const Setting &it) { return it.name == tune; });
    const int64_t value = changed == now.end() ? before : *changed->value;
    if (const std::optional<int64_t> half = halfOf(value, products.any ? fewestOfProducts : 1);
        half && !fixed.count(name))
      result.push_back({name, half, true});
  }
  return result;
}

std::optional<Attempt> combineAttempts(llvm::function_ref<std::vector<Setting>(const Attempt &)> next,
                                       llvm::function_ref<double(const Attempt &)> lacks, Attempt kept, double now) {
  for (;;) {
    std::optional<Attempt> best, aside; // a smaller tile that does not help by itself may let the next one fit
    double leastAside = std::numeric_limits<double>::infinity();
    for (const Setting &change : next(kept)) {
      Attempt changed = with(kept, change);
      const double after = lacks(changed);
      if (after == 0)
        return changed;
      if (after < now) {
        now = after;
        best = std::move(changed);
      } else if (change.isTune && after < leastAside) {
        leastAside = after;
        aside = std::move(changed);
      }
    }
    if (!best && !aside)
      return std::nullopt;
    if (!best)
      now = leastAside;
    kept = std::move(best ? *best : *aside);
  }
}

} // namespace tkc::planner
