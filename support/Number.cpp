// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Number.h"

#include "support/Tensor.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>
#include <utility>

namespace tkc {
namespace {

using Limits = std::numeric_limits<int64_t>;

/// The least and the greatest number of an integer type or of bool.
std::pair<int64_t, int64_t> limitsOf(ElemType elem) {
  if (elem == ElemType::Bool)
    return {0, 1};
  if (elem == ElemType::U8 || elem == ElemType::U4)
    return {0, (int64_t{1} << bitWidth(elem)) - 1};
  const int64_t most = static_cast<int64_t>((uint64_t{1} << (bitWidth(elem) - 1)) - 1);
  return {-most - 1, most};
}

} // namespace

int64_t Number::toInteger() const {
  if (isWhole)
    return whole;
  if (std::isnan(floating))
    return 0;
  if (floating >= 0x1p63)
    return Limits::max();
  return floating < -0x1p63 ? Limits::min() : static_cast<int64_t>(floating);
}

std::string Number::str() const { return isWhole ? fmt::format("{}", whole) : fmt::format("{}", floating); }

Number roundTo(ElemType elem, Number value) {
  if (elem == ElemType::I64)
    return Number::ofInteger(value.toInteger());
  if (value.isInteger() && isInteger(elem)) {
    const auto [least, most] = limitsOf(elem);
    return static_cast<double>(std::clamp(value.toInteger(), least, most));
  }
  return roundTo(elem, value.toDouble());
}

void Tensor::poison() {
  constexpr int64_t unlikely = -2147473711;
  std::fill(integers.begin(), integers.end(), unlikely);
  std::fill(data.begin(), data.end(),
            isFloat(elem) ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(unlikely));
}

bool isInRange(ElemType elem, Number value) {
  if (isFloat(elem))
    return true;
  if (!value.isInteger() && (value.toDouble() != std::floor(value.toDouble()) || std::fabs(value.toDouble()) > 0x1p63 ||
                             value.toDouble() == 0x1p63))
    return false;
  const auto [least, most] = limitsOf(elem);
  return value.toInteger() >= least && value.toInteger() <= most;
}

std::string outOfRange(ElemType elem, Number value) {
  const auto [least, most] = limitsOf(elem);
  const std::string numbers =
      elem == ElemType::Bool ? "true or false" : fmt::format("a whole number from {} to {}", least, most);
  const bool isVowel = elem != ElemType::Bool && elem != ElemType::U8 && elem != ElemType::U4; // "an `i32`", "a `u8`"
  const char *article = isVowel ? "an" : "a";
  return fmt::format("{} `{}` ({}); this is {}", article, spelling(elem), numbers, value.str());
}

} // namespace tkc
