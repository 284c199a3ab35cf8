// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on lanes, each value in f64. With an error model each operation also says how far a kernel's value may be
// from this one: what its operands' errors become, plus its own rounding. docs/numerics.md lists the rules.
#include "frontend/reference/Evaluator.h"

#include "support/Rounding.h"
#include "support/Tensor.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tkc::reference {
namespace {

/// A result of size `y` itself, where a kernel that errs by as much as is allowed for `e` may have 0 instead, as it has
/// for whatever is below `least`.
double lostBelow(double least, double y, double e) { return y - allowedFor(e) < least ? y : 0; }

/// How the error `e` of `x` shows in f(x) = `y`, and what computing f adds; `u` is the unit roundoff.
double unaryError(NodeKind kind, double x, double e, double y, const ErrorModel &model) {
  const double u = model.compute;
  switch (kind) {
  case NodeKind::Neg:
  case NodeKind::Abs:
    return e;
  case NodeKind::Exp:
  case NodeKind::Exp2: // the argument is scaled before the hardware's exp2, which rounds it
  {
    const double own = y == 0 ? 0 : y * e + 2 * u * (2 + std::fabs(x)) * std::fmax(y, model.least);
    return own + lostBelow(model.vanishing, y, own);
  }
  case NodeKind::Log:
  case NodeKind::Log2:
    return x == 0 ? 0
                  : e / std::fabs(x) * (kind == NodeKind::Log ? 1 : std::numbers::log2e) + 4 * u * (1 + std::fabs(y));
  case NodeKind::Sqrt:
    return y == 0 ? std::sqrt(e) : e / (2 * y) + 4 * u * y;
  case NodeKind::Rsqrt:
    return y * (e / (2 * std::fabs(x)) + 4 * u);
  case NodeKind::Rcp:
    return std::fabs(y) * (e * std::fabs(y) + 4 * u);
  case NodeKind::Tanh:
    return e * (1 - y * y) + model.tanh * std::fabs(y);
  case NodeKind::Sin:
  case NodeKind::Cos:
    return e + 4 * u * (1 + std::fabs(x));
  case NodeKind::Erf:
    return e * 2 * std::numbers::inv_sqrtpi * std::exp(-x * x) + 4 * u * std::fabs(y);
  case NodeKind::Sigmoid: { // by 1 / (1 + exp(-x)), whose denominator is infinite where the result is below the
                            // smallest normal number
    const double own = y * (1 - y) * e + y * 4 * u * (2 + std::fabs(x));
    return own + lostBelow(model.least, y, own);
  }
  case NodeKind::Floor:
    return std::floor(x - e) == std::floor(x + e) ? 0 : 1;
  case NodeKind::Constant:
  case NodeKind::Variable:
  case NodeKind::Access:
  case NodeKind::ToFloat:
  case NodeKind::Add:
  case NodeKind::Sub:
  case NodeKind::Mul:
  case NodeKind::Div:
  case NodeKind::Max:
  case NodeKind::Min:
  case NodeKind::Mod:
  case NodeKind::BitNot:
  case NodeKind::BitAnd:
  case NodeKind::BitOr:
  case NodeKind::BitXor:
  case NodeKind::Shl:
  case NodeKind::Shr:
  case NodeKind::Eq:
  case NodeKind::Ne:
  case NodeKind::Lt:
  case NodeKind::Le:
  case NodeKind::Gt:
  case NodeKind::Ge:
  case NodeKind::Not:
  case NodeKind::If:
  case NodeKind::Reduce:
  case NodeKind::Cast:
  case NodeKind::Philox:
    break;
  }
  llvm_unreachable("not a unary operation on floats");
}

template <class F> void mapFloats(int count, double *out, const Floats &x, F f) {
  for (int i = 0; i < count; ++i)
    out[i] = f(x.values[i * x.stride]);
}
template <class F> void mapFloats(int count, double *out, const Floats &x, const Floats &y, F f) {
  if (x.stride && y.stride) {
    for (int i = 0; i < count; ++i)
      out[i] = f(x.values[i], y.values[i]);
  } else if (x.stride) {
    const double other = y.values[0];
    for (int i = 0; i < count; ++i)
      out[i] = f(x.values[i], other);
  } else {
    const double other = x.values[0];
    for (int i = 0; i < count; ++i)
      out[i] = f(other, y.values[i * y.stride]);
  }
}

// Integers wrap.
int64_t add(int64_t x, int64_t y) { return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y)); }
int64_t subtract(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
}
int64_t multiply(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}
int64_t floorDivide(int64_t x, int64_t y) {
  return y == -1 ? subtract(0, x) : x / y - ((x % y != 0) && ((x < 0) != (y < 0)));
}

/// As far as another rounding, to f32 and narrower, sees: what lies between two doubles becomes the one whose last
/// digit is odd.
double toOddDouble(int64_t value) {
  const auto nearest = static_cast<double>(value);
  if (std::fabs(nearest) < 0x1p53)
    return nearest;
  constexpr int64_t rest = (1 << 11) - 1;
  return static_cast<double>((value & ~rest) | (value & rest ? rest + 1 : 0));
}

} // namespace

Floats Evaluator::unary(const Node &node) {
  const Floats x = floats(*node.children[0]);
  const int n = count(node);
  double *out = valuesOf(node), *errors = errorsOf(node);
  const auto apply = [&](auto f) { mapFloats(n, out, x, f); };
  switch (node.kind) {
  case NodeKind::Neg:
    apply([](double v) { return -v; });
    break;
  case NodeKind::Abs:
    apply([](double v) { return std::fabs(v); });
    break;
  case NodeKind::Exp:
    apply([](double v) { return std::exp(v); });
    break;
  case NodeKind::Exp2:
    apply([](double v) { return std::exp2(v); });
    break;
  case NodeKind::Log:
    apply([](double v) { return std::log(v); });
    break;
  case NodeKind::Log2:
    apply([](double v) { return std::log2(v); });
    break;
  case NodeKind::Sqrt:
    apply([](double v) { return std::sqrt(v); });
    break;
  case NodeKind::Rsqrt:
    apply([](double v) { return 1 / std::sqrt(v); });
    break;
  case NodeKind::Rcp:
    apply([](double v) { return 1 / v; });
    break;
  case NodeKind::Tanh:
    apply([](double v) { return std::tanh(v); });
    break;
  case NodeKind::Sin:
    apply([](double v) { return std::sin(v); });
    break;
  case NodeKind::Cos:
    apply([](double v) { return std::cos(v); });
    break;
  case NodeKind::Erf:
    apply([](double v) { return std::erf(v); });
    break;
  case NodeKind::Sigmoid:
    apply([](double v) { return 1 / (1 + std::exp(-v)); });
    break;
  case NodeKind::Floor:
    apply([](double v) { return std::floor(v); });
    break;
  case NodeKind::Constant:
  case NodeKind::Variable:
  case NodeKind::Access:
  case NodeKind::ToFloat:
  case NodeKind::Add:
  case NodeKind::Sub:
  case NodeKind::Mul:
  case NodeKind::Div:
  case NodeKind::Max:
  case NodeKind::Min:
  case NodeKind::Mod:
  case NodeKind::BitNot:
  case NodeKind::BitAnd:
  case NodeKind::BitOr:
  case NodeKind::BitXor:
  case NodeKind::Shl:
  case NodeKind::Shr:
  case NodeKind::Eq:
  case NodeKind::Ne:
  case NodeKind::Lt:
  case NodeKind::Le:
  case NodeKind::Gt:
  case NodeKind::Ge:
  case NodeKind::Not:
  case NodeKind::If:
  case NodeKind::Reduce:
  case NodeKind::Cast:
  case NodeKind::Philox:
    llvm_unreachable("not a unary operation on floats");
  }
  for (int i = 0; errors && i < n; ++i)
    errors[i] = meaningful(out[i], unaryError(node.kind, x.values[i * x.stride], x.errorAt(i), out[i], *errorModel));
  return {out, errors, isUniform(node) ? 0 : 1};
}

/// Whether a kernel may round a factor to its narrow type, which changes it: an input is read as it is, and what the
/// reference itself rounds to such a type stays as it is.
bool Evaluator::mayBeNarrowed(const Node &factor) const {
  const int equation = factor.kind == NodeKind::Access ? model.tensors[factor.tensor]->equation : -1;
  const Node &made = equation >= 0 ? *model.equations[equation].value : factor;
  const bool isNarrow = made.kind == NodeKind::Cast && unitRoundoff(made.elem) >= errorModel->narrow;
  return !factor.isExactOperand && !isNarrow;
}

/// Whether a number is so small that it errs by more than a part of itself, or that a kernel may have 0 instead.
bool Evaluator::anyVanishes(const double *values, int count) const {
  const double small = errorModel ? 2 * std::fmax(errorModel->least, errorModel->vanishing) : 0;
  int found = 0;
  for (int i = 0; i < count; ++i)
    found += (std::fabs(values[i]) < small) & (values[i] != 0);
  return found != 0;
}

Floats Evaluator::binary(const Node &node) {
  const Floats x = floats(*node.children[0]);
  const Floats y = floats(*node.children[1]);
  const int n = count(node);
  double *out = valuesOf(node), *errors = errorsOf(node);
  const Floats result{out, errors, isUniform(node) ? 0 : 1};
  const double u = errorModel ? errorModel->compute : 0;
  const auto rounded = [&](double r) { return r == 0 ? 0 : u * std::fmax(r, errorModel->least); };
  // exp(a) / b may be computed as exp(a - log b), and lost as such.
  const auto withLoss = [&](double error, bool isComputed, double r) {
    return error + (isComputed ? lostBelow(errorModel->vanishing, r, error) : 0);
  };
  const auto withErrors = [&](auto rule) {
    for (int i = 0; errors && i < n; ++i)
      errors[i] = meaningful(
          out[i], rule(x.values[i * x.stride], x.errorAt(i), y.values[i * y.stride], y.errorAt(i), std::fabs(out[i])));
    return result;
  };
  if (node.kind == NodeKind::Mul) {
    mapFloats(n, out, x, y, [](double a, double b) { return a * b; });
    const bool narrows = node.isContracted && errorModel && errorModel->narrow > 0;
    const bool narrowsX = narrows && mayBeNarrowed(*node.children[0]);
    const bool narrowsY = narrows && mayBeNarrowed(*node.children[1]);
    const double flushed = node.isContracted && errorModel ? errorModel->flushed : 0;
    // Most contractions: all that errs is this product itself, or products within it.
    const bool isRelative = !x.errors && !y.errors && !narrowsX && !narrowsY && flushed == 0;
    const double within = x.relative + y.relative;
    if (isRelative && (within == 0 || !anyVanishes(out, n)))
      return {out, nullptr, result.stride, within + u};
    const auto narrowed = [&](bool isNarrowed, double v) {
      return isNarrowed && v != 0 ? std::fmax(errorModel->narrow * std::fabs(v), errorModel->narrowStep) : 0;
    };
    const auto lost = [&](double v, double e) { return std::fabs(v) - e < flushed ? std::fabs(v) : 0; };
    return withErrors([&](double a, double ea, double b, double eb, double r) {
      const double error = std::fabs(a) * (eb + narrowed(narrowsY, b) + lost(b, eb)) +
                           std::fabs(b) * (ea + narrowed(narrowsX, a) + lost(a, ea)) + rounded(r);
      return withLoss(error, ea > 0 || eb > 0, r);
    });
  }
  if (node.kind == NodeKind::Add || node.kind == NodeKind::Sub) {
    if (node.kind == NodeKind::Add)
      mapFloats(n, out, x, y, [](double a, double b) { return a + b; });
    else
      mapFloats(n, out, x, y, [](double a, double b) { return a - b; });
    return withErrors([&](double, double ea, double, double eb, double r) { return ea + eb + u * r; });
  }
  if (node.kind == NodeKind::Div) {
    mapFloats(n, out, x, y, [](double a, double b) { return a / b; });
    return withErrors([&](double, double ea, double b, double eb, double r) {
      return withLoss((ea + r * eb) / std::fabs(b) + 4 * rounded(r), ea > 0 || eb > 0, r);
    });
  }
  if (node.kind == NodeKind::Max)
    mapFloats(n, out, x, y, [](double a, double b) { return std::fmax(a, b); });
  else
    mapFloats(n, out, x, y, [](double a, double b) { return std::fmin(a, b); });
  return withErrors([&](double, double ea, double, double eb, double) { return std::fmax(ea, eb); });
}

/// A whole number is rounded once.
Floats Evaluator::castWhole(const Node &node) {
  const Integers x = integers(*node.children[0]->children[0]);
  double *out = valuesOf(node);
  for (int i = 0, n = count(node); i < n; ++i)
    out[i] = roundTo(node.elem, toOddDouble(x.values[i * x.stride]));
  return {out, nullptr, isUniform(node) ? 0 : 1};
}

Floats Evaluator::castFloat(const Node &node) {
  if (node.children[0]->kind == NodeKind::ToFloat)
    return castWhole(node);
  const Floats x = floats(*node.children[0]);
  const int n = count(node);
  double *out = valuesOf(node), *errors = errorsOf(node);
  mapFloats(n, out, x, [&](double v) { return roundTo(node.elem, v); });
  // Where all that the kernel may have rounds alike so does what it has; else it may fall to the other side.
  const double ulp = 2 * unitRoundoff(node.elem), least = smallestNormal(node.elem);
  for (int i = 0; errors && i < n; ++i) {
    const double value = x.values[i * x.stride], error = x.errorAt(i), reach = allowedFor(error);
    // Of a constant the kernel has the nearest number of f32, and no other.
    const bool isOfConstant = node.children[0]->kind == NodeKind::Constant;
    const bool isSure = error == 0 || (isOfConstant && roundTo(node.elem, static_cast<float>(value)) == out[i]) ||
                        (roundTo(node.elem, value - reach) == out[i] && roundTo(node.elem, value + reach) == out[i]);
    errors[i] = isSure ? 0 : meaningful(out[i], error + ulp * std::fmax(std::fabs(out[i]), least));
  }
  return {out, errors, isUniform(node) ? 0 : 1};
}

/// Philox-4x32-10, written from the paper (Salmon, Moraes, Dror, Shaw, SC'11): counter {i, j, 0, 0}, key {seed, 0};
/// the top 24 bits of the first word.
Floats Evaluator::philox(const Node &node) {
  const Integers seed = integers(*node.children[0]);
  const Integers i = integers(*node.children[1]);
  const Integers j = integers(*node.children[2]);
  double *out = valuesOf(node);
  for (int lane = 0, n = count(node); lane < n; ++lane) {
    auto c0 = static_cast<uint32_t>(i.values[lane * i.stride]), c1 = static_cast<uint32_t>(j.values[lane * j.stride]);
    uint32_t c2 = 0, c3 = 0, k0 = static_cast<uint32_t>(seed.values[lane * seed.stride]), k1 = 0;
    for (int round = 0; round < 10; ++round) {
      const uint64_t left = uint64_t{c0} * 0xD2511F53u, right = uint64_t{c2} * 0xCD9E8D57u;
      c0 = static_cast<uint32_t>(right >> 32) ^ c1 ^ k0;
      c2 = static_cast<uint32_t>(left >> 32) ^ c3 ^ k1;
      c1 = static_cast<uint32_t>(right);
      c3 = static_cast<uint32_t>(left);
      k0 += 0x9E3779B9u; // the golden ratio
      k1 += 0xBB67AE85u; // √3 − 1
    }
    out[lane] = std::ldexp(static_cast<double>(c0 >> 8), -24);
  }
  return {out, nullptr, isUniform(node) ? 0 : 1};
}

// ---- integers ------------------------------------------------------------------------------------------------------

Integers Evaluator::integerUnary(const Node &node) {
  const Integers x = integers(*node.children[0]);
  int64_t *out = integersOf(node);
  for (int i = 0, n = count(node); i < n; ++i) {
    const int64_t v = x.values[i * x.stride];
    if (node.kind == NodeKind::Neg)
      out[i] = subtract(0, v);
    else if (node.kind == NodeKind::Abs)
      out[i] = v < 0 ? subtract(0, v) : v;
    else if (node.kind == NodeKind::BitNot)
      out[i] = ~v;
    else
      out[i] = !v;
  }
  return {out, isUniform(node) ? 0 : 1};
}

Integers Evaluator::integerBinary(const Node &node) {
  const Integers x = integers(*node.children[0]);
  const Integers y = integers(*node.children[1]);
  int64_t *out = integersOf(node);
  const int n = count(node);
  const auto apply = [&](auto f) {
    for (int i = 0; i < n; ++i)
      out[i] = f(x.values[i * x.stride], y.values[i * y.stride]);
  };
  const auto divide = [&](auto f) {
    apply([&](int64_t a, int64_t b) -> int64_t {
      if (b != 0)
        return f(a, b);
      fail({Failure::Invalid, node.range, "division of an integer by zero"});
      return 0;
    });
  };
  if (node.kind == NodeKind::Add)
    apply(add);
  else if (node.kind == NodeKind::Sub)
    apply(subtract);
  else if (node.kind == NodeKind::Mul)
    apply(multiply);
  else if (node.kind == NodeKind::Div)
    divide(floorDivide);
  else if (node.kind == NodeKind::Mod)
    divide([](int64_t a, int64_t b) { return b == -1 ? 0 : a - floorDivide(a, b) * b; });
  else if (node.kind == NodeKind::Max)
    apply([](int64_t a, int64_t b) { return std::max(a, b); });
  else if (node.kind == NodeKind::Min)
    apply([](int64_t a, int64_t b) { return std::min(a, b); });
  else if (node.kind == NodeKind::BitAnd)
    apply([](int64_t a, int64_t b) { return a & b; });
  else if (node.kind == NodeKind::BitOr)
    apply([](int64_t a, int64_t b) { return a | b; });
  else if (node.kind == NodeKind::BitXor)
    apply([](int64_t a, int64_t b) { return a ^ b; });
  else if (node.kind == NodeKind::Shl)
    apply([&](int64_t a, int64_t b) -> int64_t {
      if (b < 0 || b > (node.isWide ? 63 : 31))
        return 0;
      const auto shifted = static_cast<int64_t>(static_cast<uint64_t>(a) << b);
      return node.isWide ? shifted : static_cast<int32_t>(shifted);
    });
  else
    apply([&](int64_t a, int64_t b) -> int64_t {
      return b < 0 || b > (node.isWide ? 63 : 31) ? (a < 0 ? -1 : 0) : a >> b;
    });
  return {out, isUniform(node) ? 0 : 1};
}

namespace {

template <class T> bool holds(NodeKind kind, T a, T b) {
  if (kind == NodeKind::Eq)
    return a == b;
  if (kind == NodeKind::Ne)
    return a != b;
  if (kind == NodeKind::Lt)
    return a < b;
  if (kind == NodeKind::Le)
    return a <= b;
  if (kind == NodeKind::Gt)
    return a > b;
  return a >= b;
}

} // namespace

Integers Evaluator::compare(const Node &node) {
  int64_t *out = integersOf(node);
  const int n = count(node);
  if (node.children[0]->isInteger) {
    const Integers x = integers(*node.children[0]);
    const Integers y = integers(*node.children[1]);
    for (int i = 0; i < n; ++i)
      out[i] = holds(node.kind, x.values[i * x.stride], y.values[i * y.stride]);
  } else {
    const Floats x = floats(*node.children[0]);
    const Floats y = floats(*node.children[1]);
    for (int i = 0; i < n; ++i)
      out[i] = holds(node.kind, x.values[i * x.stride], y.values[i * y.stride]);
  }
  return {out, isUniform(node) ? 0 : 1};
}

Integers Evaluator::castInteger(const Node &node) {
  const Node &operand = *node.children[0];
  int64_t *out = integersOf(node);
  const int n = count(node);
  if (operand.isInteger) {
    const Integers x = integers(operand);
    for (int i = 0; i < n; ++i)
      out[i] = roundTo(node.elem, Number::ofInteger(x.values[i * x.stride])).toInteger();
  } else {
    const Floats x = floats(operand);
    for (int i = 0; i < n; ++i)
      out[i] = roundTo(node.elem, Number(x.values[i * x.stride])).toInteger();
  }
  return {out, isUniform(node) ? 0 : 1};
}

} // namespace tkc::reference
