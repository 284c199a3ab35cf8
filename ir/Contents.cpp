// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finite operations on finite numbers are taken not to overflow: where one does, the inputs were out of the kernel's
// range. Underflow to zero is reckoned with.
#include "ir/Contents.h"

#include <cmath>
#include <limits>

namespace tkc::ir {
namespace {

using Kind = Contents::Kind;
constexpr Kind kinds[] = {Contents::Zero,   Contents::One,    Contents::Other,
                          Contents::NegInf, Contents::PosInf, Contents::NaN};
constexpr int anyFinite = Contents::Zero | Contents::One | Contents::Other;
constexpr int bothInfinities = Contents::NegInf | Contents::PosInf;

bool isFiniteKind(Kind kind) { return (kind & anyFinite) != 0; }
bool isInfinite(Kind kind) { return (kind & bothInfinities) != 0; }

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
    return Contents::Other;
  case Contents::Zero:
  case Contents::Other:
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
  return isInfinite(y) || x == Contents::Zero ? int(y) : anyFinite;
}

int product(Kind x, Kind y) {
  bool hasZero = x == Contents::Zero || y == Contents::Zero, hasInfinity = isInfinite(x) || isInfinite(y);
  if (x == Contents::NaN || y == Contents::NaN || (hasZero && hasInfinity))
    return Contents::NaN;
  if (hasZero)
    return Contents::Zero;
  if (x == Contents::One || y == Contents::One)
    return x == Contents::One ? y : x;
  return hasInfinity ? bothInfinities : anyFinite;
}

int quotient(Kind x, Kind y) {
  if (x == Contents::NaN || y == Contents::NaN || (isInfinite(x) && isInfinite(y)))
    return Contents::NaN;
  if (y == Contents::Zero)
    return x == Contents::Zero ? int(Contents::NaN) : bothInfinities;
  if (y == Contents::One)
    return x;
  if (isInfinite(x))
    return bothInfinities;
  return x == Contents::Zero || isInfinite(y) ? int(Contents::Zero) : anyFinite;
}

/// The larger of two kinds; `least` and `most` are exchanged for the smaller. NaN gives way.
int extreme(Kind x, Kind y, bool wantMax) {
  Kind least = wantMax ? Contents::NegInf : Contents::PosInf, most = wantMax ? Contents::PosInf : Contents::NegInf;
  if (x == Contents::NaN || x == least || y == most)
    return y == Contents::NaN ? x : y;
  if (y == Contents::NaN || y == least || x == most || x == y)
    return x;
  if (x != Contents::Other && y != Contents::Other)
    return wantMax ? Contents::One : Contents::Zero;
  return x | y;
}

int exponential(Kind x) {
  switch (x) {
  case Contents::Zero:
    return Contents::One;
  case Contents::One:
  case Contents::Other:
    return anyFinite;
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
  case Contents::Other:
    return anyFinite | (isInside ? 0 : Contents::NaN);
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
  if (x == Contents::Other)
    return Contents::One | Contents::Other | (isInside ? 0 : Contents::NaN);
  return x == Contents::NegInf ? Contents::NaN : x;
}

int sigmoid(Kind x) {
  if (x == Contents::NegInf || x == Contents::PosInf)
    return x == Contents::NegInf ? Contents::Zero : Contents::One;
  return x == Contents::NaN ? int(Contents::NaN) : anyFinite;
}

/// Odd and bounded: tanh, erf.
int squashed(Kind x) {
  if (x == Contents::Zero || x == Contents::NaN)
    return x;
  return x == Contents::PosInf ? int(Contents::One) : anyFinite;
}

} // namespace

Contents Contents::of(ElemType elem, double number) {
  if (std::isnan(number))
    return Contents(NaN);
  bool isInt = elem == ElemType::I32;
  if (std::isinf(number) || (isInt && number == std::numeric_limits<int32_t>::min()) ||
      (isInt && number == std::numeric_limits<int32_t>::max()))
    return Contents(number < 0 ? NegInf : PosInf);
  return Contents(number == 0 ? Zero : number == 1 ? One : Other);
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
      if (x == Contents::Other)
        return Contents::One | Contents::Other;
      return x == Contents::NegInf ? Contents::PosInf : x;
    case OpKind::Exp:
    case OpKind::Exp2:
      return exponential(x);
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
      return x == Contents::Other ? anyFinite : int(x);
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
      return x == Contents::NaN || x == Contents::One ? int(x) : anyFinite;
    if (isPacked(to) && x == Contents::NaN) // becomes the largest number
      return Contents::Other;
    if (x == Contents::Other)
      return anyFinite;
    if (keepsInfinities || x == Contents::Zero || x == Contents::One)
      return x;
    return isInfinite(x) ? int(Contents::Other) : isFloat(to) ? int(x) : anyFinite;
  });
}

Contents reduceAll(ReduceKind kind, Contents x) {
  switch (kind) {
  case ReduceKind::Sum:
    if (x.is(Contents::Zero))
      return x;
    return Contents((x.bits & ~anyFinite) | (x.isWithin(Contents(bothInfinities)) ? 0 : anyFinite) |
                    ((x.bits & bothInfinities) == bothInfinities ? Contents::NaN : 0));
  case ReduceKind::Prod:
    if (x.is(Contents::Zero) || x.is(Contents::One))
      return x;
    return x.isWithin(Contents::finite()) ? Contents::finite() : Contents::anything();
  case ReduceKind::Max:
  case ReduceKind::Min:
    return x;
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
