// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of cases, references and tensors on the host.
#pragma once

#include "support/ElemType.h"

#include <cstdint>
#include <string>

namespace tkc {

/// A double, or an integer of 64 bits, which a double may not hold.
class Number {
public:
  Number(double value = 0) : floating(value) {}
  static Number ofInteger(int64_t value) {
    Number result;
    result.isWhole = true;
    result.whole = value;
    return result;
  }

  bool isInteger() const { return isWhole; }
  /// The nearest double.
  double toDouble() const { return isWhole ? static_cast<double>(whole) : floating; }
  /// Toward zero; what does not fit saturates, NaN gives 0.
  int64_t toInteger() const;
  /// As it would be written.
  std::string str() const;

private:
  bool isWhole = false;
  double floating = 0;
  int64_t whole = 0;
};

/// `value` as a number of `elem` (Tensor.h says how it is rounded): an integer if `elem` is i64, else a double.
Number roundTo(ElemType elem, Number value);

/// Whether an integer type, or bool, has the number; every float type rounds.
bool isInRange(ElemType elem, Number value);
/// Why not: "an `i8` (a whole number from -128 to 127); this is 200".
std::string outOfRange(ElemType elem, Number value);

/// The ends of i32 and i64 as constants of tile IR have them. 2^63 stands for the greatest i64, as it saturates.
inline double leastOf(ElemType elem) { return elem == ElemType::I64 ? -0x1p63 : -0x1p31; }
inline double greatestOf(ElemType elem) { return elem == ElemType::I64 ? 0x1p63 : 0x1p31 - 1; }

} // namespace tkc
