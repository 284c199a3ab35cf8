// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers from coordinates: the same element gets the same number whichever thread asks.
#pragma once

#include "tk/fragment.h"

namespace tk {

/// Uniform in [0, 1): the upper 24 bits of the first word of Philox-4x32-10 with key {seed, 0} and counter {i, j, 0,
/// 0}. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11.
__device__ __forceinline__ float philox_uniform(int seed, int i, int j) {
  u32 c0 = i, c1 = j, c2 = 0, c3 = 0, k0 = seed, k1 = 0;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 left = u64(c0) * 0xD2511F53u, right = u64(c2) * 0xCD9E8D57u;
    c0 = u32(right >> 32) ^ c1 ^ k0;
    c2 = u32(left >> 32) ^ c3 ^ k1;
    c1 = u32(right);
    c3 = u32(left);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return float(c0 >> 8) * 0x1p-24f;
}

/// philox_uniform of coordinates that broadcast.
template <class Seed, class I, class J>
__device__ __forceinline__ auto philox(const Seed &seed, const I &i, const J &j) {
  if constexpr (some_tile<Seed, I, J>)
    return map([](int s, int a, int b) { return philox_uniform(s, a, b); }, seed, i, j);
  else
    return philox_uniform(seed, i, j);
}

} // namespace tk
