// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions and functions of one thread's registers. Source: PTX ISA, "cvt", "ex2" and their like. The approximate
// functions are computed exactly and rounded once: nearer to the truth than the hardware, within what it promises.
#include "emulator/Formats.h"
#include "emulator/Models.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tkc::emulator {
namespace {

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

using Function = double (*)(double);

template <Function F, bool Flush> void approximate(const BoundInstruction &, uint64_t *slots) {
  const float x = asFloat(slots[1]);
  const auto y = static_cast<float>(F(Flush ? flushed(x) : x));
  slots[0] = fromFloat(Flush ? flushed(y) : y);
}

double exp2Of(double x) { return std::exp2(x); }
double log2Of(double x) { return std::log2(x); }
double reciprocal(double x) { return 1 / x; }
double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
double root(double x) { return std::sqrt(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double hyperbolicTangent(double x) { return std::tanh(x); }

/// By the reciprocal of the divisor's significand, which is rounded, as the quotient is: up to 2 ulp.
void divide(const BoundInstruction &, uint64_t *slots) {
  const float x = asFloat(slots[1]), y = asFloat(slots[2]);
  int above = 0, below = 0;
  const double dividend = std::frexp(double{x}, &above), divisor = std::frexp(double{y}, &below);
  const bool isPlain = std::isfinite(x) && std::isfinite(y) && y != 0;
  const auto quotient = static_cast<float>(dividend * static_cast<float>(1 / divisor));
  slots[0] = fromFloat(isPlain ? static_cast<float>(std::ldexp(double{quotient}, above - below)) : x / y);
}
void divideCorrectly(const BoundInstruction &, uint64_t *slots) {
  slots[0] = fromFloat(asFloat(slots[1]) / asFloat(slots[2]));
}

/// Two floats to two packed elements; the first operand goes to the upper half.
template <const NarrowFormat &Format, int Bits> void pack(const BoundInstruction &, uint64_t *slots) {
  slots[0] = uint64_t(encode(Format, asFloat(slots[1]))) << Bits | encode(Format, asFloat(slots[2]));
}

template <const NarrowFormat &Format> void narrow(const BoundInstruction &, uint64_t *slots) {
  slots[0] = encode(Format, asFloat(slots[1]));
}

template <const NarrowFormat &Format> void widen(const BoundInstruction &, uint64_t *slots) {
  slots[0] = fromFloat(static_cast<float>(decode(Format, static_cast<uint32_t>(slots[1]) & 0xffff)));
}

template <const NarrowFormat &Format> void unpackToHalves(const BoundInstruction &, uint64_t *slots) {
  const auto bits = static_cast<uint32_t>(slots[1]);
  slots[0] = uint64_t(encode(f16, decode(Format, bits >> 8 & 0xff))) << 16 | encode(f16, decode(Format, bits & 0xff));
}

/// Of both halves of words. A double between the sum and its rounding changes nothing where the terms are whole
/// numbers.
template <const NarrowFormat &Format> void multiplyAdd(const BoundInstruction &, uint64_t *slots) {
  uint64_t result = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    const auto at = [&](uint64_t slot) { return decode(Format, static_cast<uint32_t>(slot >> shift) & 0xffff); };
    result |= uint64_t(encode(Format, std::fma(at(slots[1]), at(slots[2]), at(slots[3])))) << shift;
  }
  slots[0] = result;
}

/// Nearest, ties away from zero (`.rna`) or to even (`.rn`).
void toTf32(const BoundInstruction &instruction, uint64_t *slots) {
  const auto bits = static_cast<uint32_t>(slots[1]);
  if ((bits & 0x7f800000) == 0x7f800000) {
    slots[0] = bits;
    return;
  }
  const uint32_t tie = instruction.has("rna") ? 0x1000 : 0xfff + (bits >> 13 & 1);
  slots[0] = (bits + tie) & 0xffffe000u;
}

/// Towards zero, saturating. NaN gives 0, but of 64 bits the least number.
void truncateFloat(const BoundInstruction &, uint64_t *slots) {
  const double x = asFloat(slots[1]);
  slots[0] = static_cast<uint32_t>(std::isnan(x) ? 0 : static_cast<int32_t>(std::clamp(x, -0x1p31, 0x1p31 - 1)));
}
void truncateDouble(const BoundInstruction &, uint64_t *slots) {
  const auto x = std::bit_cast<double>(slots[1]);
  slots[0] =
      static_cast<uint32_t>(std::isnan(x) ? INT32_MIN : static_cast<int32_t>(std::clamp(x, -0x1p31, 0x1p31 - 1)));
}

/// `mov d, a`, `mov.b32 {l, h}, a` and `mov.b32 d, {l, h}`.
void move(const BoundInstruction &instruction, uint64_t *slots) {
  const BoundInstruction::Operand &to = instruction.operands[0], &from = instruction.operands[1];
  if (to.count == 1 && from.count == 1) {
    slots[0] = slots[from.first];
  } else if (to.count > 1) {
    const int width = (instruction.has("b64") ? 64 : 32) / static_cast<int>(to.count);
    for (uint32_t i = 0; i < to.count; ++i)
      slots[i] = slots[from.first] >> (width * static_cast<int>(i)) & (~0ull >> (64 - width));
  } else {
    const int width = (instruction.has("b64") ? 64 : 32) / static_cast<int>(from.count);
    uint64_t all = 0;
    for (uint32_t i = 0; i < from.count; ++i)
      all |= (slots[from.first + i] & (~0ull >> (64 - width))) << (width * static_cast<int>(i));
    slots[0] = all;
  }
}

void select(const BoundInstruction &, uint64_t *slots) { slots[0] = slots[3] ? slots[1] : slots[2]; }

uint64_t mask(uint64_t slot, const BoundInstruction &instruction) {
  return instruction.settings[0] ? slot : static_cast<uint32_t>(slot);
}
bool decodeWidth(BoundInstruction &instruction) {
  const std::string_view last = instruction.parts().back();
  instruction.settings[0] = last.ends_with("64");
  return last.ends_with("64") || last.ends_with("32");
}
void setIfEqual(const BoundInstruction &i, uint64_t *slots) { slots[0] = mask(slots[1], i) == mask(slots[2], i); }
void setIfNotEqual(const BoundInstruction &i, uint64_t *slots) { slots[0] = mask(slots[1], i) != mask(slots[2], i); }

void setIfLess(const BoundInstruction &i, uint64_t *slots) { slots[0] = mask(slots[1], i) < mask(slots[2], i); }

/// By a table of what each triple of bits gives.
void logic(const BoundInstruction &, uint64_t *slots) {
  uint64_t result = 0;
  for (int triple = 0; triple < 8; ++triple)
    if (slots[4] >> triple & 1)
      result |= (triple & 4 ? slots[1] : ~slots[1]) & (triple & 2 ? slots[2] : ~slots[2]) &
                (triple & 1 ? slots[3] : ~slots[3]);
  slots[0] = static_cast<uint32_t>(result);
}

void add(const BoundInstruction &, uint64_t *slots) { slots[0] = static_cast<uint32_t>(slots[1] + slots[2]); }

void smaller(const BoundInstruction &, uint64_t *slots) {
  slots[0] = std::min(static_cast<uint32_t>(slots[1]), static_cast<uint32_t>(slots[2]));
}

constexpr Model table[] = {
    {"ex2.approx.ftz.f32", approximate<exp2Of, true>},
    {"ex2.approx.f32", approximate<exp2Of, false>},
    {"lg2.approx.f32", approximate<log2Of, false>},
    {"lg2.approx.ftz.f32", approximate<log2Of, true>},
    {"rcp.approx.ftz.f32", approximate<reciprocal, true>},
    {"rcp.approx.f32", approximate<reciprocal, false>},
    {"rsqrt.approx.f32", approximate<reciprocalRoot, false>},
    {"rsqrt.approx.ftz.f32", approximate<reciprocalRoot, true>},
    {"sqrt.approx.f32", approximate<root, false>},
    {"sqrt.approx.ftz.f32", approximate<root, true>},
    {"sin.approx.f32", approximate<sine, false>},
    {"cos.approx.f32", approximate<cosine, false>},
    {"tanh.approx.f32", approximate<hyperbolicTangent, false>},
    {"div.full.f32", divide},
    {"div.rn.f32", divideCorrectly},
    {"rcp.rn.f32", approximate<reciprocal, false>},
    {"sqrt.rn.f32", approximate<root, false>},
    {"cvt.rn.bf16x2.f32", pack<bf16, 16>},
    {"cvt.rn.f16x2.f32", pack<f16, 16>},
    {"cvt.rn.satfinite.e4m3x2.f32", pack<f8e4m3, 8>},
    {"cvt.rn.satfinite.e5m2x2.f32", pack<f8e5m2, 8>},
    {"cvt.rn.bf16.f32", narrow<bf16>},
    {"cvt.rn.f16.f32", narrow<f16>},
    {"cvt.f32.f16", widen<f16>},
    {"cvt.f32.bf16", widen<bf16>},
    {"cvt.rn.f16x2.e4m3x2", unpackToHalves<f8e4m3>},
    {"cvt.rn.f16x2.e5m2x2", unpackToHalves<f8e5m2>},
    {"fma.rn.bf16x2", multiplyAdd<bf16>},
    {"fma.rn.f16x2", multiplyAdd<f16>},
    {"cvt.rn.tf32.f32", toTf32},
    {"cvt.rna.tf32.f32", toTf32},
    {"cvt.rzi.s32.f32", truncateFloat},
    {"cvt.rzi.s32.f64", truncateDouble},
    {"mov.*", move},
    {"add.u32", add},
    {"min.u32", smaller},
    {"lop3.b32", logic},
    {"selp.*", select},
    {"setp.eq.*", setIfEqual, decodeWidth},
    {"setp.ne.*", setIfNotEqual, decodeWidth},
    {"setp.lt.u32", setIfLess, decodeWidth},
};

} // namespace

std::span<const Model> scalarModels() { return table; }

} // namespace tkc::emulator
