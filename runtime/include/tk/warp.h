// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lanes of a warp: how many, which one this is, and what they hand each other. Each kind of GPU has this header of
// its own. All lanes of a warp call together.
#pragma once

#include "tk/types.h"

namespace tk {

inline constexpr int warp_size = 32;

__device__ __forceinline__ int lane() { return threadIdx.x % warp_size; }

/// x of the lane whose number differs in the bits of Mask.
template <int Mask, class T> __device__ __forceinline__ T shuffle_xor(T x) { return __shfl_xor_sync(~0u, x, Mask); }
/// x of lane `from` among the Width lanes around this one.
template <int Width = warp_size, class T> __device__ __forceinline__ T shuffle(T x, int from) {
  return __shfl_sync(~0u, x, from, Width);
}
/// x of the lane `by` before this one among Width lanes; its own where there is none.
template <int Width = warp_size, class T> __device__ __forceinline__ T shuffle_up(T x, int by) {
  return __shfl_up_sync(~0u, x, by, Width);
}

/// The sum of x over all lanes, by one instruction: PTX ISA, "redux.sync".
inline constexpr bool adds_lanes_at_once = true;
__device__ __forceinline__ int sum_of_lanes(int x) {
  int sum;
  asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(x));
  return sum;
}

/// How many bits are set.
__device__ __forceinline__ int count_bits(u32 x) { return __popc(x); }

/// A value that is the same in all lanes, known to be so.
__device__ __forceinline__ int uniform(int x) { return __shfl_sync(~0u, x, 0); }

} // namespace tk
