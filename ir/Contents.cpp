// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums, products and quotients of finite numbers are taken not to overflow: what stands beyond an edge is zero or like
// what exists, and where that is too large the inputs were out of the kernel's range. The exponential of a number that
// exists in no row and column may be infinite, though, unless the number is shown not to be positive: one that is far
// from any that exists is enough, as 0 is from the scores of a row which are all below -100. Underflow to zero is
// reckoned with.
#include "ir/Contents.h"

#include "support/Number.h"

#include <cmath>
#include <limits>

namespace tkc::ir {
namespace {

using Kind = Contents::Kind;
constexpr Kind kinds[] = {Contents::Zero,   Contents::One,    Contents::Positive, Contents::Negative,
                          Contents::NegInf, Contents::PosInf, Contents::NaN};
constexpr int anyPositive = Contents::One | Contents::Positive;
constexpr int notNegative = Contents::Zero | anyPositive;
constexpr int notPositive = Contents::Zero | Contents::Negative;
constexpr int anyFinite = notNegative | Contents::Negative;
constexpr int bothInfinities = Contents::NegInf | Contents::PosInf;

bool isFiniteKind(Kind kind) { return (kind & anyFinite) != 0; }
bool isInfinite(Kind kind) { return (kind & bothInfinities) != 0; }
bool isNegative(Kind kind) { return (kind & (Contents::Negative | Contents::NegInf)) != 0; }

template <class Rule> Contents each(Contents x, Rule rule) {
  int bits = 0;
  for (Kind a : kinds)
    if (x.has(a))
      bits |= rule(a);
  return Contents(bits);
}

template <class Rule> Contents pairs(Contents x, Contents y, Rule rule) {
  return each(x, [&](Kind a) { return each(y, [&](Kind b) { return rule(a, b); }).bits; });
}

int negated(Kind x) {
  switch (x) {
  case Contents::NegInf:
    return Contents::PosInf;
  case Contents::PosInf:
    return Contents::NegInf;
  case Contents::One:
  case Contents::Positive:
    return Contents::Negative;
  case Contents::Negative:
    return anyPositive;
  case Contents::Zero:
  case Contents::NaN:
    return x;
  }
  return x;
}

int sum(Kind x, Kind y) {
  if (x == Contents::NaN || y == Contents::NaN || (isInfinite(x) && isInfinite(y) && x != y))
    return Contents::NaN;
  if (isInfinite(x) || y == Contents::Zero)
    return x;
  if (isInfinite(y) || x == Contents::Zero)
    return y;
  if (isNegative(x) != isNegative(y))
    return anyFinite;
  return isNegative(x) ? int(Contents::Negative) : anyPositive;
}

/// Of a product or quotient of numbers that are not zero, with its sign.
int infinity(bool isMinus) { return isMinus ? Contents::NegInf : Contents::PosInf; }
int finite(bool isMinus) { return isMinus ? notPositive : notNegative; }

int product(Kind x, Kind y) {
  bool hasZero = x == Contents::Zero || y == Contents::Zero, hasInfinity = isInfinite(x) || isInfinite(y);
  if (x == Contents::NaN || y == Contents::NaN || (hasZero && hasInfinity))
    return Contents::NaN;
  if (hasZero)
    return Contents::Zero;
  if (x == Contents::One || y == Contents::One)
    return x == Contents::One ? y : x;
  const bool isMinus = isNegative(x) != isNegative(y);
  return hasInfinity ? infinity(isMinus) : finite(isMinus);
}

int quotient(Kind x, Kind y) {
  if (x == Contents::NaN || y == Contents::NaN || (isInfinite(x) && isInfinite(y)))
    return Contents::NaN;
  if (y == Contents::Zero) // of either sign
    return x == Contents::Zero ? int(Contents::NaN) : bothInfinities;
  if (y == Contents::One)
    return x;
  const bool isMinus = isNegative(x) != isNegative(y);
  if (isInfinite(x))
    return infinity(isMinus);
  return x == Contents::Zero || isInfinite(y) ? int(Contents::Zero) : finite(isMinus);
}

/// Where it stands among numbers.
int rank(Kind x) {
  switch (x) {
  case Contents::NegInf:
    return -2;
  case Contents::Negative:
    return -1;
  case Contents::Zero:
  case Contents::NaN:
    return 0;
  case Contents::One:
  case Contents::Positive:
    return 1;
  case Contents::PosInf:
    return 2;
  }
  return 0;
}

/// The larger of two kinds, or the smaller. NaN gives way.
int extreme(Kind x, Kind y, bool wantMax) {
  if (x == Contents::NaN || y == Contents::NaN)
    return x == Contents::NaN ? y : x;
  if (rank(x) == rank(y))
    return x | y;
  return (rank(x) > rank(y)) == wantMax ? x : y;
}

int exponential(Kind x, bool isInside) {
  switch (x) {
  case Contents::Zero:
    return Contents::One;
  case Contents::One:
    return Contents::Positive;
  case Contents::Positive:
    return anyPositive | (isInside ? 0 : Contents::PosInf);
  case Contents::Negative:
    return notNegative;
  case Contents::NegInf:
    return Contents::Zero;
  case Contents::PosInf:
  case Contents::NaN:
    return x;
  }
  return x;
}

int logarithm(Kind x, bool isInside) {
  switch (x) {
  case Contents::Zero:
    return Contents::NegInf;
  case Contents::One:
    return Contents::Zero;
  case Contents::Positive:
    return anyFinite;
  case Contents::Negative:
    return isInside ? anyFinite : int(Contents::NaN);
  case Contents::PosInf:
    return x;
  case Contents::NegInf:
  case Contents::NaN:
    return Contents::NaN;
  }
  return x;
}

int reciprocal(Kind x, bool isInside) { return x == Contents::Zero && isInside ? 0 : quotient(Contents::One, x); }

int root(Kind x, bool isInside) {
  if (x == Contents::Positive)
    return anyPositive;
  if (x == Contents::Negative)
    return isInside ? anyPositive : int(Contents::NaN);
  return x == Contents::NegInf ? Contents::NaN : x;
}

int sigmoid(Kind x) {
  if (x == Contents::NegInf || x == Contents::PosInf)
    return x == Contents::NegInf ? Contents::Zero : Contents::One;
  return x == Contents::NaN ? int(Contents::NaN) : notNegative;
}

/// Odd and bounded: tanh, erf.
int squashed(Kind x) {
  if (x == Contents::Zero || x == Contents::NaN)
    return x;
  if (isInfinite(x))
    return x == Contents::PosInf ? Contents::One : Contents::Negative;
  return isNegative(x) ? notPositive : notNegative;
}

} // namespace

Contents Contents::of(ElemType elem, double number) {
  if (std::isnan(number))
    return Contents(NaN);
  const bool isInt = elem == ElemType::I32 || elem == ElemType::I64;
  if (std::isinf(number) || (isInt && (number == leastOf(elem) || number == greatestOf(elem))))
    return Contents(number < 0 ? NegInf : PosInf);
  return Contents(number == 0 ? Zero : number == 1 ? One : number < 0 ? Negative : Positive);
}

std::string_view Contents::name() const {
  switch (bits) {
  case Zero:
    return "zero";
  case One:
    return "one";
  case NegInf:
    return "-inf";
  case PosInf:
    return "+inf";
  default:
    return isWithin(finite()) ? "finite" : "anything";
  }
}

Contents apply(OpKind unary, Contents x, bool isInside) {
  return each(x, [&](Kind x) -> int {
    switch (unary) {
    case OpKind::Neg:
      return negated(x);
    case OpKind::Abs:
      if (x == Contents::Negative)
        return anyPositive;
      return x == Contents::NegInf ? Contents::PosInf : x;
    case OpKind::Exp:
    case OpKind::Exp2:
      return exponential(x, isInside);
    case OpKind::Log:
    case OpKind::Log2:
      return logarithm(x, isInside);
    case OpKind::Sqrt:
      return root(x, isInside);
    case OpKind::Rsqrt:
      return each(Contents(root(x, isInside)), [&](Kind y) { return reciprocal(y, isInside); }).bits;
    case OpKind::Rcp:
      return reciprocal(x, isInside);
    case OpKind::Tanh:
    case OpKind::Erf:
      return squashed(x);
    case OpKind::Sin:
      return x == Contents::Zero ? int(x) : isFiniteKind(x) ? anyFinite : int(Contents::NaN);
    case OpKind::Cos:
      return x == Contents::Zero ? int(Contents::One) : isFiniteKind(x) ? anyFinite : int(Contents::NaN);
    case OpKind::Sigmoid:
      return sigmoid(x);
    case OpKind::Floor:
      return x == Contents::Positive ? notNegative : int(x);
    case OpKind::Not: // of bools; integers may become anything
      return x == Contents::Zero ? int(Contents::One) : x == Contents::One ? int(Contents::Zero) : anyFinite;
    default: // no other op has one operand
      return Contents::anything().bits;
    }
  });
}

Contents apply(OpKind binary, bool isInteger, Contents x, Contents y, bool isInsideY) {
  if (binary == OpKind::Max || binary == OpKind::Min)
    return pairs(x, y, [&](Kind a, Kind b) { return extreme(a, b, binary == OpKind::Max); });
  auto isFalse = [](Kind a) { return a == Contents::Zero; };
  if (binary == OpKind::And || binary == OpKind::Or || binary == OpKind::Xor) {
    if (!x.isWithin(Contents::boolean()) || !y.isWithin(Contents::boolean()))
      return Contents::finite();
    return pairs(x, y, [&](Kind a, Kind b) -> int {
      bool isTrue = binary == OpKind::And  ? !isFalse(a) && !isFalse(b)
                    : binary == OpKind::Or ? !isFalse(a) || !isFalse(b)
                                           : isFalse(a) != isFalse(b);
      return isTrue ? Contents::One : Contents::Zero;
    });
  }
  if (isCompare(binary))
    return Contents::boolean();
  if (isInteger) // the least and the greatest are numbers like others
    return binary == OpKind::Mul && (x.is(Contents::Zero) || y.is(Contents::Zero)) ? Contents(Contents::Zero)
                                                                                   : Contents::finite();
  return pairs(x, y, [&](Kind a, Kind b) -> int {
    switch (binary) {
    case OpKind::Add:
      return sum(a, b);
    case OpKind::Sub:
      return each(Contents(negated(b)), [&](Kind minusB) { return sum(a, minusB); }).bits;
    case OpKind::Mul:
      return product(a, b);
    case OpKind::Div:
      return b == Contents::Zero && isInsideY ? 0 : quotient(a, b);
    default: // integers' alone
      return Contents::anything().bits;
    }
  });
}

Contents convert(ElemType to, Contents x) {
  if (to == ElemType::Bool)
    return x.is(Contents::Zero) ? x : Contents::boolean();
  bool keepsInfinities = isFloat(to) && !saturates(to);
  return each(x, [&](Kind x) -> int {
    if (to == ElemType::F8E8M0) // has no zero
      return x == Contents::NaN || x == Contents::One ? int(x) : anyPositive;
    if (isPackedFloat(to) && x == Contents::NaN) // becomes the largest number
      return Contents::Positive;
    if (x == Contents::Positive || x == Contents::Negative) // may become zero
      return finite(isNegative(x));
    if (keepsInfinities || x == Contents::Zero || x == Contents::One)
      return x;
    if (isInfinite(x))
      return isNegative(x) ? Contents::Negative : Contents::Positive;
    return isFloat(to) ? int(x) : int(Contents::Zero);
  });
}

/// Of any number of the finite ones among x, if there are any.
static int sumOfFinite(Contents x) {
  const int finite = x.bits & anyFinite;
  if ((finite & ~Contents::Zero) == 0)
    return finite;
  return (finite & anyPositive) == 0 ? notPositive : (finite & Contents::Negative) == 0 ? notNegative : anyFinite;
}

Contents reduceAll(ReduceKind kind, Contents x) {
  switch (kind) {
  case ReduceKind::Sum:
    if (x.is(Contents::Zero))
      return x;
    return Contents((x.bits & ~anyFinite) | sumOfFinite(x) |
                    ((x.bits & bothInfinities) == bothInfinities ? Contents::NaN : 0));
  case ReduceKind::Prod:
    if (x.is(Contents::Zero) || x.is(Contents::One))
      return x;
    return x.isWithin(Contents::finite()) ? Contents::finite() : Contents::anything();
  case ReduceKind::Max: // of NaN alone -inf, as over nothing
    return x | Contents(x.bits & Contents::NaN ? Contents::NegInf : 0);
  case ReduceKind::Min:
    return x | Contents(x.bits & Contents::NaN ? Contents::PosInf : 0);
  case ReduceKind::ArgMax:
  case ReduceKind::ArgMin:
    return Contents::finite();
  }
  return Contents::anything();
}

Contents sumOfProducts(Contents x, Contents y) {
  if (!x.isWithin(Contents::finite()) || !y.isWithin(Contents::finite()))
    return Contents::anything();
  return x.is(Contents::Zero) || y.is(Contents::Zero) ? Contents(Contents::Zero) : Contents::finite();
}

} // namespace tkc::ir
