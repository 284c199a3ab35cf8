// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the matrix units compute, to the bit as far as it is known. NVIDIA's add the products of one instruction and the
// accumulator at once: all terms are aligned to the largest exponent, cut off a number of bits below it, summed
// exactly, and the sum is cut off to the result. Source: M. Fasi et al., "Numerical behavior of NVIDIA tensor cores"
// (PeerJ CS, 2021), and later measurements of newer GPUs by the same method.
#pragma once

#include <cstdint>
#include <vector>

namespace tkc::emulator {

enum class MatrixType : uint8_t { BF16, F16, TF32, F8E4M3, F8E5M2, F6E2M3, F6E3M2, F4E2M1, I8, U8 };

/// In registers; F4E2M1 takes half of it, two elements to a byte, and those of six bits the lower ones of a byte.
uint32_t bytesOf(MatrixType type);

/// A term's factor: mantissa · 2^exponent; what is not finite stands in `value`.
struct Factor {
  int32_t mantissa = 0;
  int32_t exponent = 0;
  float value = 0;
};
Factor decodeFactor(MatrixType type, uint32_t bits);
inline bool isFloat6(MatrixType type) { return type == MatrixType::F6E2M3 || type == MatrixType::F6E3M2; }

/// How a GPU sums.
struct Summation {
  int fractionBits; ///< kept below the largest exponent of the terms
  int termsAtOnce;  ///< products summed together; longer sums go through the accumulator
};

/// Of tcgen05's products, which is not published: taken to be as exact as Hopper's for 16 bits.
Summation tensorSummation();
/// Of `wgmma` and of `mma.sync` on a GPU of this architecture, as in sm_90.
Summation wgmmaSummation(MatrixType type);
Summation mmaSummation(MatrixType type, int architecture);

/// accumulator + Σ a[i] · b[i].
float sumOfProducts(const Factor *a, const Factor *b, uint32_t count, float accumulator, const Summation &summation);

} // namespace tkc::emulator
