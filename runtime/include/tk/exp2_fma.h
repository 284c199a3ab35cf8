// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exp2 by multiply-adds, for kernels that keep the special function units busy: x = n + f with |f| ≤ 1/2 (Cody and
// Waite), 2^f by a polynomial that is 1 at 0, n added to its exponent. The polynomials are minimax in relative error on
// [-1/2, 1/2] under that condition; errors as evaluated: degree 3 2^-13.2, degree 5 2^-22.6.
#pragma once

#include "tk/elementwise.h"

namespace tk {

/// 2^x; 0 up to −127, subnormal results are not rounded; inf from 128 on. NaN gives 0.
template <int Degree> __device__ __forceinline__ float exp2_fma(float x) {
  static_assert(Degree == 3 || Degree == 5);
  constexpr float to_integer = 12582912.0f; // 1.5 · 2^23: the sum's low bits are n
  x = min(max(x, -127.0f), 128.0f);
  const float shifted = x + to_integer;
  const float f = x - (shifted - to_integer);
  float p;
  if constexpr (Degree == 3)
    p = fma(fma(0.0550089404f, f, 0.242211014f), f, 0.693282962f);
  else
    p = fma(fma(fma(fma(0.00132647285f, f, 0.00967151392f), f, 0.0555073358f), f, 0.240222424f), f, 0.693147004f);
  p = fma(p, f, 1.0f);
  return __builtin_bit_cast(float, __builtin_bit_cast(u32, p) + (__builtin_bit_cast(u32, shifted) << 23));
}

/// exp2 of a tile: of 16 elements of a thread `Share` by a polynomial of that degree, spread evenly.
template <int Share, int Degree, tile X> __device__ __forceinline__ X exp2_shared(const X &x) {
  X result;
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < X::col_slots; ++b) {
      const bool by_polynomial = (b + 1) * Share / 16 > b * Share / 16;
      result.set(a, b, by_polynomial ? exp2_fma<Degree>(x.at(a, b)) : exp2(x.at(a, b)));
    }
  return result;
}

} // namespace tk
