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

/// The largest magnitude of a thread's elements.
template <tile X> __device__ __forceinline__ float farthest(const X &x) {
  // Several, so that none waits for the one before it.
  constexpr int chains = 8;
  float reaches[chains] = {};
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b)
      reaches[b % chains] = max(reaches[b % chains], abs(x.at(a, b)));
  float reach = 0.0f;
#pragma unroll
  for (int i = 0; i < chains; ++i)
    reach = max(reach, reaches[i]);
  return reach;
}

/// Whether x² + offset is below 0 for all elements of the thread: two elements an instruction.
template <tile X> __device__ __forceinline__ bool all_squares_below(const X &x, float offset) {
  int signs = -1;
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b)
      signs &= __builtin_bit_cast(int, fma(x.at(a, b), x.at(a, b), offset));
  return signs < 0;
}

/// outer · tanh(inner · x): both factors are in the coefficients where all elements of the thread are near 0.
template <tile X> __device__ __forceinline__ X scaled_tanh(const X &x, float inner = 1.0f, float outer = 1.0f) {
  // Of a warpgroup's tile of few elements a thread there are registers for as many again: the polynomial is then in
  // what the question is asked of, w = x² − edge, but for inner². Else edge is 0.
  constexpr bool few = same<typename X::layout, mma_layout> && X::row_slots * X::col_slots <= 32;
  constexpr float edge = few ? 0.0484f : 0.0f, c0 = 0.999999815f, c1 = -0.333264244f, c2 = 0.129501085f;
  // No coefficient may leave the range of normal numbers: the smallest are outer · inner^5.
  const bool folds = abs(inner) > 0x1p-20f && abs(inner) < 0x1p20f && abs(outer) > 0x1p-20f && abs(outer) < 0x1p20f;
  const auto near = [=](float offset) {
    const float square = inner * inner, scale = inner * outer;
    const float a0 = (c0 + edge * (c1 + edge * c2)) * scale, a1 = (c1 + 2.0f * edge * c2) * scale * square;
    const float a2 = c2 * scale * square * square;
    return [=](float v) {
      const float w = few ? fma(v, v, offset) : v * v;
      return v * fma(fma(a2, w, a1), w, a0);
    };
  };
  if constexpr (few) {
    const float offset = folds ? -edge / (inner * inner) : 1.0f;
    if (all_squares_below(x, offset))
      return map(near(offset), x);
  }
  const float reach = farthest(x) * abs(inner);
  if (!few && folds && reach < 0.22f)
    return map(near(0.0f), x);
  if (reach < 0.65f)
    return map([=](float v) { return outer * small_tanh(inner * v); }, x);
  return map([=](float v) { return outer * tanh(inner * v); }, x);
}

} // namespace tk
