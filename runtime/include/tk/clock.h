// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clocks of a multiprocessor and of the GPU. Each kind of GPU has this header of its own. PTX ISA, "Special
// Registers".
#pragma once

#include "tk/warp.h"

namespace tk {

/// Where a thread writes words: the low half of an address, and where that ends; nothing is written from there on.
struct word_place {
  u32 at, end, high;
};

/// `Count` words, 1 or 2, `Bytes` from there on. Without a branch, which would keep the compiler from mixing what
/// stands before and after.
template <int Bytes, int Count> __device__ __forceinline__ void store_words(const word_place &to, u32 x, u32 y) {
  if constexpr (Count == 2)
    asm volatile("{\n.reg .pred room;\n.reg .b64 address;\n"
                 "setp.lt.u32 room, %0, %1;\n"
                 "mov.b64 address, {%0, %2};\n"
                 "@room st.global.v2.b32 [address + %5], {%3, %4};\n}" ::"r"(to.at),
                 "r"(to.end), "r"(to.high), "r"(x), "r"(y), "n"(Bytes));
  else
    asm volatile("{\n.reg .pred room;\n.reg .b64 address;\n"
                 "setp.lt.u32 room, %0, %1;\n"
                 "mov.b64 address, {%0, %2};\n"
                 "@room st.global.b32 [address + %4], %3;\n}" ::"r"(to.at),
                 "r"(to.end), "r"(to.high), "r"(x), "n"(Bytes));
}

/// Cycles of this multiprocessor, their low half. The compiler moves nothing across.
__device__ __forceinline__ u32 clock_cycles() {
  u32 cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles));
  return cycles;
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
