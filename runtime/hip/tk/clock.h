// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clocks of a compute unit and of the GPU. "AMD Instinct MI300 Instruction Set Architecture", S_MEMTIME,
// S_MEMREALTIME; the latter counts 100 MHz.
#pragma once

#include "tk/warp.h"

namespace tk {

/// Where a thread writes words, and the low half of where that ends; nothing is written from there on.
struct word_place {
  u64 at;
  u32 end;
};

/// Two words, `Bytes` from there on.
template <int Bytes> __device__ __forceinline__ void store_pair(const word_place &to, u32 x, u32 y) {
  if (u32(to.at) >= to.end)
    return;
  u32 *words = reinterpret_cast<u32 *>(to.at + Bytes);
  words[0] = x;
  words[1] = y;
}
/// Four words, likewise.
template <int Bytes> __device__ __forceinline__ void store_quad(const word_place &to, u32 x, u32 y, u32 z, u32 w) {
  store_pair<Bytes>(to, x, y);
  store_pair<Bytes + 8>(to, z, w);
}
/// Goes on as many bytes, or to the end.
template <int Bytes> __device__ __forceinline__ void advance(word_place &place) {
  const u32 low = u32(place.at);
  place.at += (low + Bytes < place.end ? low + Bytes : place.end) - low;
}

/// Cycles of this compute unit, their low half.
__device__ __forceinline__ u32 clock_cycles() { return u32(__builtin_amdgcn_s_memtime()); }
/// Cycles of this compute unit.
__device__ __forceinline__ u64 clock_all_cycles() { return __builtin_amdgcn_s_memtime(); }
/// Tens of nanoseconds that all compute units agree on.
__device__ __forceinline__ u64 global_time() { return __builtin_amdgcn_s_memrealtime(); }
inline constexpr double global_time_unit = 10; ///< ns

/// Which compute unit this is: not asked.
__device__ __forceinline__ u32 multiprocessor() { return ~0u; }

} // namespace tk
