// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise ops over the elements that exist. Each op is one loop over rows of contiguous elements; an operand that
// broadcasts along the row is read once a row.
#include "ir/interpreter/Worker.h"

#include "support/Rounding.h"

#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>

namespace tkc::ir::interpreter {
namespace {

/// Where results go.
struct Region {
  int64_t rows;
  int64_t cols;
  int64_t stride;
};

template <class Out, class T, class F> void mapUnary(Region region, Out *out, Strided<T> x, F f) {
  for (int64_t r = 0; r < region.rows; ++r) {
    Out *o = out + r * region.stride;
    const T *a = x.row(r);
    for (int64_t c = 0; c < region.cols; ++c)
      o[c] = f(a[c]);
  }
}

template <class Out, class T, class U, class F>
void mapBinary(Region region, Out *out, Strided<T> x, Strided<U> y, F f) {
  for (int64_t r = 0; r < region.rows; ++r) {
    Out *o = out + r * region.stride;
    const T *a = x.row(r);
    const U *b = y.row(r);
    if (x.colStride && y.colStride) {
      for (int64_t c = 0; c < region.cols; ++c)
        o[c] = f(a[c], b[c]);
    } else if (x.colStride) {
      const U other = *b;
      for (int64_t c = 0; c < region.cols; ++c)
        o[c] = f(a[c], other);
    } else if (y.colStride) {
      const T other = *a;
      for (int64_t c = 0; c < region.cols; ++c)
        o[c] = f(other, b[c]);
    } else {
      const Out value = f(*a, *b);
      for (int64_t c = 0; c < region.cols; ++c)
        o[c] = value;
    }
  }
}

// ---- unary ---------------------------------------------------------------------------------------------------------

template <class T> void unaryFloat(OpKind kind, Region region, T *out, Strided<T> x) {
  const auto apply = [&](auto f) { mapUnary(region, out, x, f); };
  switch (kind) {
  case OpKind::Neg:
    return apply([](T v) { return -v; });
  case OpKind::Abs:
    return apply([](T v) { return std::fabs(v); });
  case OpKind::Exp:
    return apply([](T v) { return std::exp(v); });
  case OpKind::Exp2:
    return apply([](T v) { return std::exp2(v); });
  case OpKind::Log:
    return apply([](T v) { return std::log(v); });
  case OpKind::Log2:
    return apply([](T v) { return std::log2(v); });
  case OpKind::Sqrt:
    return apply([](T v) { return std::sqrt(v); });
  case OpKind::Rsqrt:
    return apply([](T v) { return 1 / std::sqrt(v); });
  case OpKind::Rcp:
    return apply([](T v) { return 1 / v; });
  case OpKind::Tanh:
    return apply([](T v) { return std::tanh(v); });
  case OpKind::Sin:
    return apply([](T v) { return std::sin(v); });
  case OpKind::Cos:
    return apply([](T v) { return std::cos(v); });
  case OpKind::Erf:
    return apply([](T v) { return std::erf(v); });
  case OpKind::Sigmoid:
    return apply([](T v) { return 1 / (1 + std::exp(-v)); });
  case OpKind::Floor:
    return apply([](T v) { return std::floor(v); });
  case OpKind::Not:
#define TKC_BINARY(kind, name, domain, summary) case OpKind::kind:
#define TKC_OP(kind, name, summary) case OpKind::kind:
#include "ir/Ops.def"
    llvm_unreachable("not a unary operation on floats");
  }
}

template <class T> void unaryInteger(OpKind kind, bool isBool, Region region, T *out, Strided<T> x) {
  const auto negate = [](T v) { return wrappingSubtract(T{}, v); };
  if (kind == OpKind::Neg)
    return mapUnary(region, out, x, negate);
  if (kind == OpKind::Abs)
    return mapUnary(region, out, x, [&](T v) { return v < 0 ? negate(v) : v; });
  if (kind == OpKind::Not && isBool)
    return mapUnary(region, out, x, [](T v) -> T { return v ? 0 : 1; });
  if (kind == OpKind::Not)
    return mapUnary(region, out, x, [](T v) -> T { return ~v; });
  llvm_unreachable("not a unary operation on integers");
}

// ---- binary --------------------------------------------------------------------------------------------------------

template <class T> T maxOf(T x, T y) { return y != y || x > y ? x : y; }
template <class T> T minOf(T x, T y) { return y != y || x < y ? x : y; }

/// Floors. A division by zero gives 0: no GPU traps, and `where` may discard the element.
template <class T> T floorDiv(T x, T y) {
  if (y == 0)
    return 0;
  if (y == -1)
    return wrappingSubtract(T{}, x);
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
template <class T> T floorMod(T x, T y) {
  return y == 0 ? 0 : wrappingSubtract(x, wrappingMultiply(floorDiv(x, y), y));
}
template <class T> constexpr T lastBit = static_cast<T>(8 * sizeof(T) - 1);
template <class T> T shiftLeft(T x, T y) {
  return y < 0 || y > lastBit<T> ? 0 : static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << y);
}
template <class T> T shiftRight(T x, T y) { return y < 0 || y > lastBit<T> ? (x < 0 ? -1 : 0) : x >> y; }

template <class T> bool compare(OpKind kind, Region region, int32_t *out, Strided<T> x, Strided<T> y) {
  const auto apply = [&](auto f) {
    mapBinary(region, out, x, y, f);
    return true;
  };
  if (kind == OpKind::Eq)
    return apply([](T a, T b) -> int32_t { return a == b; });
  if (kind == OpKind::Ne)
    return apply([](T a, T b) -> int32_t { return a != b; });
  if (kind == OpKind::Lt)
    return apply([](T a, T b) -> int32_t { return a < b; });
  if (kind == OpKind::Le)
    return apply([](T a, T b) -> int32_t { return a <= b; });
  if (kind == OpKind::Gt)
    return apply([](T a, T b) -> int32_t { return a > b; });
  if (kind == OpKind::Ge)
    return apply([](T a, T b) -> int32_t { return a >= b; });
  return false;
}

template <class T> void arithmeticFloat(OpKind kind, Region region, T *out, Strided<T> x, Strided<T> y) {
  const auto apply = [&](auto f) { mapBinary(region, out, x, y, f); };
  if (kind == OpKind::Add)
    return apply([](T a, T b) { return a + b; });
  if (kind == OpKind::Sub)
    return apply([](T a, T b) { return a - b; });
  if (kind == OpKind::Mul)
    return apply([](T a, T b) { return a * b; });
  if (kind == OpKind::Div)
    return apply([](T a, T b) { return a / b; });
  if (kind == OpKind::Max)
    return apply(maxOf<T>);
  if (kind == OpKind::Min)
    return apply(minOf<T>);
  llvm_unreachable("not a binary operation on floats");
}

template <class T> void arithmeticInteger(OpKind kind, Region region, T *out, Strided<T> x, Strided<T> y) {
  const auto apply = [&](auto f) { mapBinary(region, out, x, y, f); };
  switch (kind) {
  case OpKind::Add:
    return apply(wrappingAdd<T>);
  case OpKind::Sub:
    return apply(wrappingSubtract<T>);
  case OpKind::Mul:
    return apply(wrappingMultiply<T>);
  case OpKind::Div:
    return apply(floorDiv<T>);
  case OpKind::Mod:
    return apply(floorMod<T>);
  case OpKind::Max:
    return apply(maxOf<T>);
  case OpKind::Min:
    return apply(minOf<T>);
  case OpKind::And:
    return apply([](T a, T b) { return a & b; });
  case OpKind::Or:
    return apply([](T a, T b) { return a | b; });
  case OpKind::Xor:
    return apply([](T a, T b) { return a ^ b; });
  case OpKind::Shl:
    return apply(shiftLeft<T>);
  case OpKind::Shr:
    return apply(shiftRight<T>);
  case OpKind::Eq:
  case OpKind::Ne:
  case OpKind::Lt:
  case OpKind::Le:
  case OpKind::Gt:
  case OpKind::Ge:
#define TKC_UNARY(kind, name, domain, summary) case OpKind::kind:
#define TKC_OP(kind, name, summary) case OpKind::kind:
#include "ir/Ops.def"
    llvm_unreachable("not a binary operation on integers");
  }
}

/// Results narrower than what was computed with are rounded.
template <class T> void roundResult(Region region, T *out, const Slot &slot) {
  const bool exact = slot.elem == ElemType::F32 || slot.elem == ElemType::F64 || slot.elem == ElemType::I32 ||
                     slot.elem == ElemType::I64 || slot.elem == ElemType::Bool;
  if (exact)
    return;
  mapUnary(region, out, strided<T>(out, slot),
           [elem = slot.elem](T v) { return static_cast<T>(roundTo(elem, static_cast<double>(v))); });
}

// ---- casts ---------------------------------------------------------------------------------------------------------

/// As a double that rounds to f32 and narrower types as `value` itself does: an integer between two doubles becomes the
/// one whose last digit is odd.
template <class T> double toOddDouble(T value) {
  const auto nearest = static_cast<double>(value);
  if constexpr (std::is_same_v<T, int64_t>)
    if (std::fabs(nearest) >= 0x1p53) {
      constexpr int64_t spacing = 1 << 11; // of doubles below 2^64
      return static_cast<double>((value & -spacing) | (value % spacing != 0 ? spacing : 0));
    }
  return nearest;
}

template <class To, class From> To toInteger(ElemType elem, From value) {
  if constexpr (std::is_integral_v<From>)
    return static_cast<To>(roundTo(elem, Number::ofInteger(value)).toInteger());
  else
    return static_cast<To>(roundTo(elem, Number(static_cast<double>(value))).toInteger());
}

template <class To, class From> void convert(ElemType elem, Region region, To *out, Strided<From> x) {
  const auto rounded = [&](const FloatFormat &format) {
    mapUnary(region, out, x, [&format](From v) { return static_cast<To>(roundToFormat(format, toOddDouble(v))); });
  };
  const auto finite = [&](const FloatFormat &format) {
    mapUnary(region, out, x, [&format](From v) { return static_cast<To>(roundToFinite(format, toOddDouble(v))); });
  };
  switch (elem) {
  case ElemType::F64:
  case ElemType::F32:
    return mapUnary(region, out, x, [](From v) { return static_cast<To>(v); });
  case ElemType::TF32:
    return rounded(tf32Format);
  case ElemType::F16:
    return rounded(f16Format);
  case ElemType::BF16:
    return rounded(bf16Format);
  case ElemType::F8E4M3:
    return rounded(f8e4m3Format);
  case ElemType::F8E5M2:
    return rounded(f8e5m2Format);
  case ElemType::F8E8M0:
    return mapUnary(region, out, x, [](From v) { return static_cast<To>(roundToF8E8M0(toOddDouble(v))); });
  case ElemType::F4E2M1:
    return finite(f4e2m1Format);
  case ElemType::F6E2M3:
    return finite(f6e2m3Format);
  case ElemType::F6E3M2:
    return finite(f6e3m2Format);
  case ElemType::I64:
  case ElemType::I32:
  case ElemType::I8:
  case ElemType::U8:
  case ElemType::I4:
  case ElemType::U4:
  case ElemType::Bool:
    return mapUnary(region, out, x, [elem](From v) { return toInteger<To>(elem, v); });
  }
}

// ---- philox --------------------------------------------------------------------------------------------------------

/// Philox-4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11) with key
/// {seed, 0} and counter {i, j, 0, 0}; the result is the top 24 bits of word 0, times 2^-24.
float philoxUniform(int32_t seed, int32_t i, int32_t j) {
  uint32_t counter[4] = {static_cast<uint32_t>(i), static_cast<uint32_t>(j), 0, 0};
  uint32_t key[2] = {static_cast<uint32_t>(seed), 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = 0xD2511F53ull * counter[0];
    const uint64_t product1 = 0xCD9E8D57ull * counter[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    std::copy(next, next + 4, counter);
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return static_cast<float>(counter[0] >> 8) * 0x1p-24f;
}

} // namespace

void Worker::unary(const Step &step) {
  const int in = step.operands[0], out = step.results[0];
  const Slot &slot = info(out);
  const Region region{rows(out), cols(out), slot.cols};
  withStorage(slot.storage, [&](auto zero) {
    using T = decltype(zero);
    // The operand has the result's shape: its own stride also where it is a single column.
    const Strided<T> x{data<T>(in), slot.cols, 1};
    if constexpr (std::is_integral_v<T>)
      unaryInteger(step.op->kind, slot.elem == ElemType::Bool, region, data<T>(out), x);
    else
      unaryFloat<T>(step.op->kind, region, data<T>(out), x);
    roundResult(region, data<T>(out), slot);
  });
}

void Worker::binary(const Step &step) {
  const int lhs = step.operands[0], rhs = step.operands[1], out = step.results[0];
  const Slot &slot = info(out);
  const Region region{rows(out), cols(out), slot.cols};
  withStorage(info(lhs).storage, [&](auto zero) {
    using T = decltype(zero);
    const Strided<T> x = strided(data<T>(lhs), info(lhs));
    const Strided<T> y = strided(data<T>(rhs), info(rhs));
    if (slot.storage == Storage::I32 && compare(step.op->kind, region, data<int32_t>(out), x, y))
      return;
    if constexpr (std::is_integral_v<T>)
      arithmeticInteger(step.op->kind, region, data<T>(out), x, y);
    else
      arithmeticFloat(step.op->kind, region, data<T>(out), x, y);
    roundResult(region, data<T>(out), slot);
  });
}

void Worker::cast(const Step &step) {
  const int in = step.operands[0], out = step.results[0];
  const Slot &slot = info(out);
  const Region region{rows(out), cols(out), slot.cols};
  withStorage(info(in).storage, [&](auto from) {
    using From = decltype(from);
    withStorage(slot.storage, [&](auto to) {
      using To = decltype(to);
      convert<To, From>(slot.elem, region, data<To>(out), Strided<From>{data<From>(in), slot.cols, 1});
    });
  });
}

void Worker::select(const Step &step) {
  const int out = step.results[0];
  const Slot &slot = info(out);
  const int64_t numRows = rows(out), numCols = cols(out);
  const Strided<int32_t> condition = strided(data<int32_t>(step.operands[0]), info(step.operands[0]));
  withStorage(slot.storage, [&](auto zero) {
    using T = decltype(zero);
    const Strided<T> x = strided(data<T>(step.operands[1]), info(step.operands[1]));
    const Strided<T> y = strided(data<T>(step.operands[2]), info(step.operands[2]));
    for (int64_t r = 0; r < numRows; ++r) {
      T *o = data<T>(out) + r * slot.cols;
      const int32_t *which = condition.row(r);
      const T *a = x.row(r), *b = y.row(r);
      for (int64_t c = 0; c < numCols; ++c)
        o[c] = which[c * condition.colStride] ? a[c * x.colStride] : b[c * y.colStride];
    }
  });
}

void Worker::philox(const Step &step) {
  const int out = step.results[0];
  const Slot &slot = info(out);
  const int64_t numRows = rows(out), numCols = cols(out);
  const auto operand = [&](int i) { return strided(data<int32_t>(step.operands[i]), info(step.operands[i])); };
  const Strided<int32_t> seed = operand(0), i = operand(1), j = operand(2);
  for (int64_t r = 0; r < numRows; ++r)
    for (int64_t c = 0; c < numCols; ++c)
      data<float>(out)[r * slot.cols + c] =
          philoxUniform(seed.row(r)[c * seed.colStride], i.row(r)[c * i.colStride], j.row(r)[c * j.colStride]);
}

} // namespace tkc::ir::interpreter
