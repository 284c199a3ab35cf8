// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a schedule of a kernel may say: an axis for each tune and each key, and the values that are worth a try.
#pragma once

#include "frontend/Sema.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tkc::tune {

/// Tunes and keys of one schedule. What is absent is the kernel's default, or the planner's choice.
using Settings = std::map<std::string, int64_t>;

struct Axis {
  std::string name;
  bool isTune = false;
  int64_t standard = 0;        ///< of a tune: its default
  std::vector<int64_t> values; ///< ascending
};

/// Tunes in the order of their declaration, then keys; those of `fixed` are not searched. `defaults`: of the tunes.
std::vector<Axis> axesOf(const Settings &defaults, const std::vector<std::string> &tuneOrder, const Settings &fixed);

/// Sizes near `value`: a quarter of it to four times as much, 2^n and 3·2^n, and from 160 on multiples of 32 with a
/// factor of 5 or 7, which split matrices more evenly.
std::vector<int64_t> sizesNear(int64_t value);

/// Without tunes that are at their default.
Settings normalized(Settings settings, const Settings &defaults);

/// One change away from `from`: tunes by up to three values up or down, keys to any value or to none.
std::vector<Settings> neighbours(const Settings &from, const std::vector<Axis> &axes);

/// Every choice of round tunes that is at most `most` values up or down from `from`, nearest first; keys as they are.
std::vector<Settings> tilesAround(const Settings &from, const std::vector<Axis> &axes, int most);

/// The settings of "BM = 64; stages = 6;".
Settings parseSettings(std::string_view text);

/// "BM = 64; stages = 6;" in the order of the axes, then the rest; "as it is" where nothing is set.
std::string describe(const Settings &settings, const std::vector<std::string> &tuneOrder);

} // namespace tkc::tune
