// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of single lanes that LLVM has no common operation for. What the hardware approximates is computed exactly
// and rounded once. Source: "AMD Instinct MI300 ISA", "VOP1 Instructions", "VOP3 Instructions".
#include "emulator/Formats.h"
#include "emulator/amdgpu/WaveModels.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tkc::emulator {
namespace {

// ---- floats of 16, 32 or 64 bits

double readFloat(const WaveInstruction &instruction, const std::byte *slots, size_t operand) {
  switch (instruction.operands[operand].elementBits) {
  case 64:
    return instruction.get<double>(slots, operand);
  case 32:
    return instruction.get<float>(slots, operand);
  default:
    return decode(f16, instruction.get<uint16_t>(slots, operand));
  }
}

void writeFloat(const WaveInstruction &instruction, std::byte *slots, double value) {
  switch (instruction.result.elementBits) {
  case 64:
    return instruction.set(slots, value);
  case 32:
    return instruction.set(slots, static_cast<float>(value));
  default:
    return instruction.set(slots, static_cast<uint16_t>(encode(f16, value)));
  }
}

bool isScalarFloat(WaveInstruction &instruction) {
  return instruction.result.isFloat && !instruction.result.isBfloat &&
         instruction.result.bytes * 8 == instruction.result.elementBits;
}

template <double (*Function)(double)>
void function(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  writeFloat(instruction, slots, Function(readFloat(instruction, slots, 0)));
}

bool isDenormal(double x) { return x != 0 && std::fabs(x) < 0x1p-126; }

// The units for powers and logarithms have no denormal numbers.
double power(double x) {
  const double result = std::exp2(x);
  return isDenormal(result) ? 0 : result;
}
double logarithm(double x) { return isDenormal(x) ? -INFINITY : std::log2(x); }
double reciprocal(double x) { return 1 / x; }
double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
double root(double x) { return std::sqrt(x); }
double sine(double turns) { return std::sin(2 * std::numbers::pi * (turns - std::floor(turns))); }
double cosine(double turns) { return std::cos(2 * std::numbers::pi * (turns - std::floor(turns))); }
double fraction(double x) { return std::min(x - std::floor(x), 0x1.fffffep-1); }

void median(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  const double x = readFloat(instruction, slots, 0), y = readFloat(instruction, slots, 1),
               z = readFloat(instruction, slots, 2);
  if (std::isnan(x) || std::isnan(y) || std::isnan(z))
    writeFloat(instruction, slots, std::fmin(std::fmin(x, y), z));
  else
    writeFloat(instruction, slots, std::max(std::min(x, y), std::min(std::max(x, y), z)));
}

// ---- integers

uint32_t word(const WaveInstruction &instruction, const std::byte *slots, size_t operand) {
  return instruction.get<uint32_t>(slots, operand);
}

/// Bytes of x:y, y being the lower ones, by selectors of 8 bits; 8 to 11 spread a sign, 12 is 0 and more is 0xff.
void permuteBytes(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  const uint64_t bytes = uint64_t(word(instruction, slots, 0)) << 32 | word(instruction, slots, 1);
  const uint32_t selector = word(instruction, slots, 2);
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t which = selector >> (8 * i) & 0xff;
    uint32_t byte = 0;
    if (which < 8)
      byte = static_cast<uint32_t>(bytes >> (8 * which) & 0xff);
    else if (which < 12)
      byte = bytes >> (16 * (which - 8) + 15) & 1 ? 0xff : 0;
    else
      byte = which == 12 ? 0 : 0xff;
    result |= byte << (8 * i);
  }
  instruction.set(slots, result);
}

/// `Unit` bits are a step of the third operand.
template <uint32_t Unit> void align(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  const uint64_t both = uint64_t(word(instruction, slots, 0)) << 32 | word(instruction, slots, 1);
  instruction.set(slots, static_cast<uint32_t>(both >> (word(instruction, slots, 2) % (32 / Unit) * Unit)));
}

template <bool Signed> void field(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  const uint32_t value = word(instruction, slots, 0), offset = word(instruction, slots, 1) & 31,
                 width = word(instruction, slots, 2) & 31;
  uint32_t result = width == 0 ? 0 : value >> offset & ((1u << width) - 1);
  if (Signed && width != 0 && offset + width <= 32 && result >> (width - 1) & 1)
    result |= ~((1u << width) - 1);
  instruction.set(slots, result);
}

/// Σ of four products of bytes, plus a number: `sdot4`, `udot4`.
template <class Byte> void dotOfBytes(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  uint32_t sum = word(instruction, slots, 2);
  for (int i = 0; i < 4; ++i)
    sum += static_cast<uint32_t>(static_cast<Byte>(word(instruction, slots, 0) >> (8 * i)) *
                                 static_cast<Byte>(word(instruction, slots, 1) >> (8 * i)));
  instruction.set(slots, sum);
}

bool doesNotClamp(WaveInstruction &instruction) { return instruction.constant(3) == 0; }

/// Σ of two products of halves, plus an f32, added one by one.
void dotOfHalves(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  const NarrowFormat &format = instruction.operands[0].isBfloat ? bf16 : f16;
  float sum = instruction.get<float>(slots, 2);
  for (size_t i = 0; i < 2; ++i)
    sum = std::fma(static_cast<float>(decode(format, instruction.get<uint16_t>(slots, 0, i))),
                   static_cast<float>(decode(format, instruction.get<uint16_t>(slots, 1, i))), sum);
  instruction.set(slots, sum);
}

// ---- conversions

/// Two floats to halves, cut off towards zero.
void convertToHalvesDown(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  for (size_t i = 0; i < 2; ++i) {
    const double value = instruction.get<float>(slots, i);
    uint32_t bits = encode(f16, value);
    if (std::isfinite(value) && std::fabs(decode(f16, bits)) > std::fabs(value))
      --bits;
    instruction.set(slots, static_cast<uint16_t>(bits), i);
  }
}

/// Float8 of the GPU: FNUZ before gfx950, OCP's there.
struct Float8 {
  int mantissaBits, bias;
  bool isFnuz, isE4;

  double decode(uint32_t bits) const {
    const uint32_t exponent = bits >> mantissaBits & ((1u << (7 - mantissaBits)) - 1);
    const uint32_t mantissa = bits & ((1u << mantissaBits) - 1);
    const double sign = bits & 0x80 ? -1 : 1;
    if (isFnuz ? bits == 0x80 : isE4 ? (bits & 0x7f) == 0x7f : exponent == 31 && mantissa != 0)
      return NAN;
    if (!isFnuz && !isE4 && exponent == 31)
      return sign * INFINITY;
    const double value = exponent == 0 ? mantissa : mantissa + (1u << mantissaBits);
    return sign * std::ldexp(value, std::max(static_cast<int>(exponent), 1) - bias - mantissaBits);
  }

  double largest() const { return isE4 ? (isFnuz ? 240 : 448) : 57344; }

  /// To nearest even; beyond the largest number no number (e5m2 of OCP: infinity), as without clamping.
  uint32_t encode(double value) const {
    const uint32_t nan = isFnuz ? 0x80 : isE4 ? 0x7f : 0x7e;
    if (std::isnan(value))
      return nan;
    const double magnitude = std::fabs(value);
    const int exponent = magnitude == 0 ? 1 - bias : std::max(std::ilogb(magnitude), 1 - bias);
    const double units = std::nearbyint(std::ldexp(magnitude, mantissaBits - exponent));
    const double rounded = std::ldexp(units, exponent - mantissaBits);
    const uint32_t sign = std::signbit(value) ? 0x80 : 0;
    if (rounded > largest())
      return isFnuz ? nan : sign | (isE4 ? 0x7fu : 0x7cu);
    if (rounded == 0)
      return isFnuz ? 0 : sign;
    const int top = std::max(std::ilogb(rounded), 1 - bias);
    const auto field = static_cast<uint32_t>(std::ldexp(rounded, mantissaBits - top));
    const bool isNormal = field >> mantissaBits & 1;
    return sign | (isNormal ? static_cast<uint32_t>(top + bias) << mantissaBits : 0) |
           (field & ((1u << mantissaBits) - 1));
  }
};

Float8 float8(const WaveInstruction &instruction, bool isE4) {
  const bool isFnuz = instruction.gpu != Cdna::Cdna4;
  return isE4 ? Float8{3, isFnuz ? 8 : 7, isFnuz, true} : Float8{2, isFnuz ? 16 : 15, isFnuz, false};
}

/// `bits, byte`
template <bool IsE4> void convertFrom8(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  const uint32_t byte = word(instruction, slots, 0) >> (8 * (instruction.constant(1) & 3)) & 0xff;
  instruction.set(slots, static_cast<float>(float8(instruction, IsE4).decode(byte)));
}

/// `bits, upper half`: two of them.
template <bool IsE4> void convertPairFrom8(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  const uint32_t pair = word(instruction, slots, 0) >> (instruction.constant(1) ? 16 : 0);
  for (size_t i = 0; i < 2; ++i)
    instruction.set(slots, static_cast<float>(float8(instruction, IsE4).decode(pair >> (8 * i) & 0xff)), i);
}

/// `x, y, old, upper half`
template <bool IsE4> void convertPairTo8(const WaveInstruction &instruction, Thread & /*thread*/, std::byte *slots) {
  const Float8 format = float8(instruction, IsE4);
  const uint32_t pair =
      format.encode(instruction.get<float>(slots, 0)) | format.encode(instruction.get<float>(slots, 1)) << 8;
  const uint32_t old = word(instruction, slots, 2);
  instruction.set(slots, instruction.constant(3) ? (old & 0xffff) | pair << 16 : (old & 0xffff0000u) | pair);
}

constexpr WaveModel table[] = {
    {"exp2", function<power>, nullptr, isScalarFloat},
    {"log", function<logarithm>, nullptr, isScalarFloat},
    {"rcp", function<reciprocal>, nullptr, isScalarFloat},
    {"rsq", function<reciprocalRoot>, nullptr, isScalarFloat},
    {"sqrt", function<root>, nullptr, isScalarFloat},
    {"sin", function<sine>, nullptr, isScalarFloat},
    {"cos", function<cosine>, nullptr, isScalarFloat},
    {"fract", function<fraction>, nullptr, isScalarFloat},
    {"fmed3", median, nullptr, isScalarFloat},
    {"perm", permuteBytes},
    {"alignbit", align<1>},
    {"alignbyte", align<8>},
    {"ubfe", field<false>},
    {"sbfe", field<true>},
    {"sdot4", dotOfBytes<int8_t>, nullptr, doesNotClamp},
    {"udot4", dotOfBytes<uint8_t>, nullptr, doesNotClamp},
    {"fdot2", dotOfHalves, nullptr, doesNotClamp},
    {"fdot2.f32.bf16", dotOfHalves, nullptr, doesNotClamp},
    {"cvt.pkrtz", convertToHalvesDown},
    {"cvt.f32.fp8", convertFrom8<true>},
    {"cvt.f32.bf8", convertFrom8<false>},
    {"cvt.pk.f32.fp8", convertPairFrom8<true>},
    {"cvt.pk.f32.bf8", convertPairFrom8<false>},
    {"cvt.pk.fp8.f32", convertPairTo8<true>},
    {"cvt.pk.bf8.f32", convertPairTo8<false>},
};

} // namespace

std::span<const WaveModel> scalarWaveModels() { return table; }

} // namespace tkc::emulator
