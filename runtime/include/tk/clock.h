// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clocks of a multiprocessor and of the GPU. Each kind of GPU has this header of its own. PTX ISA, "Special
// Registers".
#pragma once

#include "tk/warp.h"

namespace tk {

/// Where a thread writes words, and the low half of where that ends; nothing is written from there on.
struct word_place {
  u64 at;
  u32 end;
};

/// Two words, `Bytes` from there on. Without a branch, which would keep the compiler from mixing what stands before and
/// after.
template <int Bytes> __device__ __forceinline__ void store_pair(const word_place &to, u32 x, u32 y) {
  asm volatile("{\n.reg .pred room;\n.reg .b32 low, high;\n"
               "mov.b64 {low, high}, %0;\n"
               "setp.lt.u32 room, low, %1;\n"
               "@room st.global.v2.b32 [%0 + %4], {%2, %3};\n}" ::"l"(to.at),
               "r"(to.end), "r"(x), "r"(y), "n"(Bytes));
}
/// Four words, likewise; `to` is a multiple of 16.
template <int Bytes> __device__ __forceinline__ void store_quad(const word_place &to, u32 x, u32 y, u32 z, u32 w) {
  asm volatile("{\n.reg .pred room;\n.reg .b32 low, high;\n"
               "mov.b64 {low, high}, %0;\n"
               "setp.lt.u32 room, low, %1;\n"
               "@room st.global.v4.b32 [%0 + %6], {%2, %3, %4, %5};\n}" ::"l"(to.at),
               "r"(to.end), "r"(x), "r"(y), "r"(z), "r"(w), "n"(Bytes));
}
/// Goes on as many bytes, or to the end, in one instruction: what a warp writes is aligned so that the high half stays.
template <int Bytes> __device__ __forceinline__ void advance(word_place &place) {
  asm volatile("{\n.reg .b32 low, high;\n"
               "mov.b64 {low, high}, %0;\n"
               "add.u32 low, low, %2;\n"
               "min.u32 low, low, %1;\n"
               "mov.b64 %0, {low, high};\n}"
               : "+l"(place.at)
               : "r"(place.end), "n"(Bytes));
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
