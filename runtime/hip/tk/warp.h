// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lanes of a wave: how many, which one this is, and what they hand each other. All lanes of a wave call together.
// "AMD Instinct MI300 Instruction Set Architecture", "Data Share": ds_swizzle_b32, ds_bpermute_b32.
#pragma once

#include "tk/types.h"

namespace tk {

inline constexpr int warp_size = 64;

__device__ __forceinline__ int lane() { return threadIdx.x % warp_size; }

/// `move` on each 32-bit word of x.
template <class T, class Move> __device__ __forceinline__ T move_words(T x, Move move) {
  if constexpr (sizeof(T) < 4) {
    struct padded {
      T value;
      u8 rest[4 - sizeof(T)];
    };
    padded word{x, {}};
    return __builtin_bit_cast(padded, move(__builtin_bit_cast(int, word))).value;
  } else {
    struct words {
      int each[sizeof(T) / 4];
    };
    words result = __builtin_bit_cast(words, x);
#pragma unroll
    for (int &word : result.each)
      word = move(word);
    return __builtin_bit_cast(T, result);
  }
}

/// x of the lane whose number differs in the bits of Mask.
template <int Mask, class T> __device__ __forceinline__ T shuffle_xor(T x) {
  if constexpr (Mask < 32) { // within half a wave: xor mask, or mask, and mask
    constexpr int pattern = Mask << 10 | 0x1f;
    return move_words(x, [](int word) { return __builtin_amdgcn_ds_swizzle(word, pattern); });
  } else {
    const int address = (lane() ^ Mask) * 4;
    return move_words(x, [&](int word) { return __builtin_amdgcn_ds_bpermute(address, word); });
  }
}
/// x of lane `from` among the Width lanes around this one.
template <int Width = warp_size, class T> __device__ __forceinline__ T shuffle(T x, int from) {
  const int address = (lane() / Width * Width + from) * 4;
  return move_words(x, [&](int word) { return __builtin_amdgcn_ds_bpermute(address, word); });
}
/// x of the lane `by` before this one among Width lanes; its own where there is none.
template <int Width = warp_size, class T> __device__ __forceinline__ T shuffle_up(T x, int by) {
  const int at = lane() % Width;
  return shuffle<Width>(x, at >= by ? at - by : at);
}

/// No one instruction adds up all lanes.
inline constexpr bool adds_lanes_at_once = false;
__device__ int sum_of_lanes(int x);

/// How many bits are set.
__device__ __forceinline__ int count_bits(u32 x) { return __builtin_popcount(x); }

/// A value that is the same in all lanes, known to be so.
__device__ __forceinline__ int uniform(int x) { return __builtin_amdgcn_readfirstlane(x); }

} // namespace tk
