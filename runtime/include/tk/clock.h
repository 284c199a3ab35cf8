// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clocks of a multiprocessor and of the GPU. Each kind of GPU has this header of its own. PTX ISA, "Special
// Registers".
#pragma once

#include "tk/warp.h"

namespace tk {

/// Cycles of this multiprocessor, the low half; where it stands among the statements is where it is read.
__device__ __forceinline__ u32 clock_cycles() {
  u32 cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles));
  return cycles;
}
__device__ __forceinline__ u64 clock_all_cycles() {
  u64 cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
  return cycles;
}
/// Nanoseconds that all multiprocessors agree on, in steps of some 32 to 1024.
__device__ __forceinline__ u64 global_time() {
  u64 nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}
inline constexpr double global_time_unit = 1; ///< ns

/// Which multiprocessor this is.
__device__ __forceinline__ u32 multiprocessor() {
  u32 number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

} // namespace tk
