// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clocks of a compute unit and of the GPU. "AMD Instinct MI300 Instruction Set Architecture", S_MEMTIME,
// S_MEMREALTIME; the latter counts 100 MHz.
#pragma once

#include "tk/warp.h"

namespace tk {

/// Cycles of this compute unit; where it stands among the statements is where it is read.
__device__ __forceinline__ u64 clock_all_cycles() { return __builtin_amdgcn_s_memtime(); }
__device__ __forceinline__ u32 clock_cycles() { return u32(clock_all_cycles()); }
/// Tens of nanoseconds that all compute units agree on.
__device__ __forceinline__ u64 global_time() { return __builtin_amdgcn_s_memrealtime(); }
inline constexpr double global_time_unit = 10; ///< ns

/// Which compute unit this is: not asked.
__device__ __forceinline__ u32 multiprocessor() { return ~0u; }

} // namespace tk
