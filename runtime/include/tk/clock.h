// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clocks of a multiprocessor and of the GPU. Each kind of GPU has this header of its own. PTX ISA, "Special
// Registers".
#pragma once

#include "tk/warp.h"

namespace tk {

/// Where a thread writes stamps: the low half of an address moves from `at` to `end`, where no more are written.
struct stamps {
  u32 at, end, high;
  u32 cycles; ///< of the last stamp
};

/// Takes a stamp: a number, written at once with the cycles (their low half) of the stamp before, as those of this one
/// are not there yet, and a thread would wait for them. Without a branch, which would keep the compiler from mixing
/// what stands before and after, and with one addition, as what lies between `at` and `end` has one high half.
__device__ __forceinline__ void stamp(stamps &to, u32 number) {
  asm volatile("{\n.reg .pred room;\n.reg .b64 address;\n"
               "setp.ne.u32 room, %0, %2;\n"
               "mov.b64 address, {%0, %3};\n"
               "@room st.global.v2.b32 [address], {%1, %4};\n"
               "@room mov.u32 %1, %%clock;\n"
               "@room add.u32 %0, %0, 8;\n}"
               : "+r"(to.at), "+r"(to.cycles)
               : "r"(to.end), "r"(to.high), "r"(number));
}

/// Cycles of this multiprocessor.
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
