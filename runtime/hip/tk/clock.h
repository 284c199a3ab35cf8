// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clocks of a compute unit and of the GPU. "AMD Instinct MI300 Instruction Set Architecture", S_MEMTIME,
// S_MEMREALTIME; the latter counts 100 MHz.
#pragma once

#include "tk/warp.h"

namespace tk {

/// Where a thread writes stamps: the low half of an address moves from `at` to `end`, where no more are written.
struct stamps {
  u32 at, end, high;
  u32 cycles; ///< of the last stamp
};

/// Takes a stamp: a number, written at once with the cycles (their low half) of the stamp before, as those of this one
/// are not there yet, and a wave would wait for them.
__device__ __forceinline__ void stamp(stamps &to, u32 number) {
  if (to.at == to.end)
    return;
  *reinterpret_cast<u64 *>(u64(to.high) << 32 | to.at) = u64(number) << 32 | to.cycles;
  to.cycles = u32(__builtin_amdgcn_s_memtime());
  to.at += 8;
}

/// Cycles of this compute unit.
__device__ __forceinline__ u64 clock_all_cycles() { return __builtin_amdgcn_s_memtime(); }
/// Tens of nanoseconds that all compute units agree on.
__device__ __forceinline__ u64 global_time() { return __builtin_amdgcn_s_memrealtime(); }
inline constexpr double global_time_unit = 10; ///< ns

/// Which compute unit this is: not asked.
__device__ __forceinline__ u32 multiprocessor() { return ~0u; }

} // namespace tk
