// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1 + tanh x; and tanh of a tile, by multiply-adds where a thread's elements are near 0, as capped scores are: an
// exponential and a reciprocal an element take longer than the products around them. tanh x = x · P(x²), P of least
// relative error under tanh x / x: of degree 2 below 0.22 2^-22.3, of degree 4 below 0.65 2^-22.6; with rounding
// 2^-21.2.
#pragma once

#include "tk/elementwise.h"

namespace tk {

/// For |x| up to 0.65.
__device__ __forceinline__ float small_tanh(float x) {
  const float s = x * x;
  float p = fma(0.0146250856f, s, -0.0515179167f);
  p = fma(p, s, 0.132978738f);
  p = fma(p, s, -0.333315002f);
  return x * fma(p, s, 0.999999846f);
}

/// 1 + tanh x = 2 / (1 + e^-2x), as gelu takes it: 2^-21 absolute, and small sums keep their digits.
__device__ __forceinline__ float one_plus_tanh(float x) { return 2.0f * rcp(1.0f + exp2(x * (-2.0f * log2_e))); }

/// outer · tanh(inner · x): both factors are in the coefficients where all elements of the thread are near 0.
template <tile X> __device__ __forceinline__ X scaled_tanh(const X &x, float inner = 1.0f, float outer = 1.0f) {
  // Several, so that none waits for the one before it.
  constexpr int chains = 8;
  float farthest[chains] = {};
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b)
      farthest[b % chains] = max(farthest[b % chains], abs(x.at(a, b)));
  float reach = 0.0f;
#pragma unroll
  for (int i = 0; i < chains; ++i)
    reach = max(reach, farthest[i]);
  reach = reach * abs(inner);
  // No coefficient may leave the range of normal numbers: the smallest are outer · inner^5.
  const bool folds = abs(inner) > 0x1p-20f && abs(inner) < 0x1p20f && abs(outer) > 0x1p-20f && abs(outer) < 0x1p20f;
  if (folds && reach < 0.22f) {
    const float square = inner * inner, scale = inner * outer;
    const float c0 = 0.999999815f * scale, c1 = -0.333264244f * scale * square;
    const float c2 = 0.129501085f * scale * square * square;
    return map([=](float v) { return v * fma(fma(c2, v * v, c1), v * v, c0); }, x);
  }
  if (reach < 0.65f)
    return map([=](float v) { return outer * small_tanh(inner * v); }, x);
  return map([=](float v) { return outer * tanh(inner * v); }, x);
}

} // namespace tk
