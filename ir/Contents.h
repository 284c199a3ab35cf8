// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What numbers an element may be: a set of six kinds of number, and how operations combine such sets.
#pragma once

#include "ir/TileIR.h"

#include <cstdint>
#include <string_view>

namespace tkc::ir {

/// A set of kinds of number. Integers use the infinities for the least and the greatest of their type.
struct Contents {
  /// Positive but for 1; the infinities are kinds of their own.
  enum Kind : uint8_t { Zero = 1, One = 2, Positive = 4, NegInf = 8, PosInf = 16, NaN = 32, Negative = 64 };
  uint8_t bits = 0;

  constexpr Contents() = default;
  constexpr explicit Contents(int bits) : bits(static_cast<uint8_t>(bits)) {}
  static constexpr Contents none() { return Contents(0); }
  static constexpr Contents finite() { return Contents(Zero | One | Positive | Negative); }
  static constexpr Contents anything() { return Contents(127); }
  static constexpr Contents boolean() { return Contents(Zero | One); }
  static Contents of(ElemType elem, double number);

  bool isWithin(Contents set) const { return (bits & ~set.bits) == 0; }
  bool is(Kind kind) const { return bits == kind; }
  bool has(Kind kind) const { return (bits & kind) != 0; }
  /// Whether it is one number, that is known.
  bool isExact() const { return bits == Zero || bits == One || bits == NegInf || bits == PosInf || bits == NaN; }
  Contents without(Kind kind) const { return Contents(bits & ~kind); }
  /// The smallest of "zero", "one", "-inf", "+inf", "finite", "anything" that holds it.
  std::string_view name() const;

  friend Contents operator|(Contents x, Contents y) { return Contents(x.bits | y.bits); }
  friend bool operator==(Contents, Contents) = default;
};

/// Of element-wise ops. `isInside[i]`: operand i stems from elements that exist, of which no division by zero, root or
/// logarithm of a negative number is expected, and no exponential that is infinite: where there is one, the result is
/// spoilt anyway.
Contents apply(OpKind unary, Contents x, bool isInside);
Contents apply(OpKind binary, bool isInteger, Contents x, Contents y, bool isInsideY);
/// Of a conversion to `to`.
Contents convert(ElemType to, Contents x);
/// Of a reduction of any number of elements.
Contents reduceAll(ReduceKind kind, Contents x);
/// Of a product of x's with y's, summed.
Contents sumOfProducts(Contents x, Contents y);

} // namespace tkc::ir
