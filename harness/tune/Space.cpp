// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/tune/Space.h"

#include "backends/schedule/Schedule.h"

#include <algorithm>
#include <fmt/core.h>
#include <llvm/ADT/StringRef.h>

namespace tkc::tune {
namespace {

/// 2^n or 3·2^n.
bool isRound(int64_t value) {
  while (value > 0 && value % 2 == 0)
    value /= 2;
  return value == 1 || value == 3;
}

/// Few values are all tried but large odd ones, of many the powers of two.
std::vector<int64_t> valuesOf(const planner::Key &key) {
  std::vector<int64_t> values;
  for (int64_t value = key.lo; value <= key.hi; ++value)
    if (key.hi > 16 ? (value & (value - 1)) == 0 : value <= 8 || isRound(value))
      values.push_back(value);
  return values;
}

/// The place of the value, or where it would stand.
int64_t placeOf(const Axis &axis, int64_t value) {
  return std::lower_bound(axis.values.begin(), axis.values.end(), value) - axis.values.begin();
}

int64_t valueIn(const Settings &settings, const Axis &axis) {
  const auto found = settings.find(axis.name);
  return found == settings.end() ? axis.standard : found->second;
}

Settings with(Settings settings, const Axis &axis, int64_t value) {
  if (axis.isTune && value == axis.standard)
    settings.erase(axis.name);
  else
    settings[axis.name] = value;
  return settings;
}

} // namespace

std::vector<int64_t> sizesNear(int64_t value) {
  std::vector<int64_t> values;
  for (int64_t size = std::max<int64_t>(1, value / 4); size <= value * 4; ++size) {
    const bool isEven =
        size % 32 == 0 && ((size % 5 == 0 && isRound(size / 5)) || (size % 7 == 0 && isRound(size / 7)));
    if (isRound(size) || size == value || (isEven && size >= 160))
      values.push_back(size);
  }
  return values;
}

std::vector<Axis> axesOf(const Settings &defaults, const std::vector<std::string> &tuneOrder, const Settings &fixed) {
  std::vector<Axis> axes;
  for (const std::string &tune : tuneOrder)
    if (!fixed.count(tune))
      axes.push_back({tune, true, defaults.at(tune), sizesNear(defaults.at(tune))});
  for (const planner::Key &key : planner::keys())
    if (key.isTuned && !fixed.count(std::string(key.name)))
      axes.push_back({std::string(key.name), false, 0, valuesOf(key)});
  return axes;
}

Settings normalized(Settings settings, const Settings &defaults) {
  for (const auto &[name, value] : defaults)
    if (const auto found = settings.find(name); found != settings.end() && found->second == value)
      settings.erase(found);
  return settings;
}

std::vector<Settings> neighbours(const Settings &from, const std::vector<Axis> &axes) {
  std::vector<Settings> result;
  for (const Axis &axis : axes) {
    const bool isSet = from.count(axis.name) != 0;
    const int64_t at = placeOf(axis, valueIn(from, axis));
    for (int64_t i = 0; i < static_cast<int64_t>(axis.values.size()); ++i) {
      const int64_t value = axis.values[static_cast<size_t>(i)];
      const bool isSame = (isSet || axis.isTune) && value == valueIn(from, axis);
      if (!isSame && (!axis.isTune || std::abs(i - at) <= 3))
        result.push_back(with(from, axis, value));
    }
    if (!axis.isTune && isSet) {
      result.push_back(from);
      result.back().erase(axis.name);
    }
  }
  return result;
}

std::vector<Settings> tilesAround(const Settings &from, const std::vector<Axis> &axes, int most) {
  std::vector<std::pair<int64_t, Settings>> found{{0, from}};
  for (const Axis &axis : axes) {
    if (!axis.isTune)
      continue;
    Axis round = axis;
    std::erase_if(round.values, [](int64_t value) { return !isRound(value); });
    const int64_t at = placeOf(round, valueIn(from, axis));
    for (size_t known = found.size(), k = 0; k < known; ++k)
      for (int64_t i = 0; i < static_cast<int64_t>(round.values.size()); ++i) {
        const int64_t moves = found[k].first + std::abs(i - at), value = round.values[static_cast<size_t>(i)];
        if (value != valueIn(from, axis) && moves <= most)
          found.emplace_back(moves, with(found[k].second, axis, value));
      }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<Settings> result;
  for (auto &[moves, settings] : found)
    result.push_back(std::move(settings));
  return result;
}

Settings parseSettings(std::string_view text) {
  Settings settings;
  for (llvm::StringRef rest(text.data(), text.size()); !rest.empty();) {
    const auto [setting, others] = rest.split(';');
    const auto [name, value] = setting.split('=');
    if (int64_t number = 0; !value.trim().getAsInteger(10, number))
      settings[name.trim().str()] = number;
    rest = others;
  }
  return settings;
}

std::string describe(const Settings &settings, const std::vector<std::string> &tuneOrder) {
  std::string text;
  const auto add = [&](const std::string &name, int64_t value) {
    text += fmt::format("{}{} = {};", text.empty() ? "" : " ", name, value);
  };
  for (const std::string &tune : tuneOrder)
    if (const auto found = settings.find(tune); found != settings.end())
      add(tune, found->second);
  for (const auto &[name, value] : settings)
    if (std::find(tuneOrder.begin(), tuneOrder.end(), name) == tuneOrder.end())
      add(name, value);
  return text.empty() ? "as it is" : text;
}

} // namespace tkc::tune
