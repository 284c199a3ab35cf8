// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What AMD's matrix units compute. CDNA2 and CDNA3 to the bit as P. Xie et al. measured them ("MMA-Sim: Bit-Accurate
// Reference Model of Tensor Cores and Matrix Cores", 2025); CDNA4 is taken to sum as CDNA3 does, which nobody has
// published.
#pragma once

#include "emulator/Machine.h"

#include <cstdint>

namespace tkc::emulator {

enum class MfmaType : uint8_t { F64, F32, XF32, F16, BF16, I8, F8, BF8, F6, BF6, F4 };

uint32_t bitsOf(MfmaType type);

/// A factor: mantissa · 2^exponent; what is not finite has `isFinite` false. `value` is all of it.
struct MfmaFactor {
  int32_t mantissa = 0;
  int32_t exponent = 0; ///< of the mantissa's lowest bit
  int32_t highest = 0;  ///< exponent as it is stored: of the leading bit of normal numbers
  float value = 0;
  bool isFinite = true;
};

/// Of f32 and f64 only `value` is set, of f64 not even that. F8 and BF8 are the encodings without infinities and
/// negative zero (FNUZ) before CDNA4, and OCP's there.
MfmaFactor decodeMfmaFactor(MfmaType type, uint32_t bits, Cdna gpu);

/// How a GPU sums products of a type: the terms of a group at once, and groups through the accumulator.
struct MfmaSummation {
  enum class Kind : uint8_t { Chain, Pairwise, Fused, FusedHalves } kind;
  uint32_t group;
  bool flushes = false; ///< denormals, of operands and results
};
MfmaSummation mfmaSummation(MfmaType type, bool isOldBf16, uint32_t depth, Cdna gpu);

/// accumulator + Σ a[i] · b[i] · 2^scale[i / 32]; `scale` may be null.
float mfmaSum(const MfmaFactor *a, const MfmaFactor *b, uint32_t count, float accumulator,
              const MfmaSummation &summation, const int32_t *scale = nullptr);

} // namespace tkc::emulator
