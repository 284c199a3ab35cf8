// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Division by a number that the launcher knows.
#pragma once

#include "tk/config.h"

namespace tk {

/// A number by which a kernel divides. A GPU has no instruction for division: some twenty instructions take about 150
/// cycles. So the launcher looks for a factor whose product with a number, shifted, is the quotient.
///
///   const tk::divisor d(12);
///   d.quotient(100); // 8
struct divisor {
  unsigned factor = 1u << 31, shift = 0;
  int value = 1;

  constexpr divisor() = default;
  /// Of steps along an axis: none count as one, as no block divides by them then.
  explicit constexpr divisor(long long steps) : value(steps < 1 ? 1 : steps > largest ? largest : int(steps)) {
    while (1ull << shift < static_cast<unsigned long long>(value))
      ++shift;
    // 2^shift is less than twice the value, so the factor has 32 bits. It is too large by less than one part in 2^31.
    factor = unsigned(((1ull << 31 << shift) + unsigned(value) - 1) / unsigned(value));
  }

  /// x / value, of an x that is not negative.
  __host__ __device__ constexpr int quotient(int x) const {
    return int(unsigned((1ull * (2 * unsigned(x)) * factor) >> 32) >> shift);
  }

private:
  static constexpr int largest = 2147483647;
};

} // namespace tk
