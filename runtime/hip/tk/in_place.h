// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler is to compute where it is used. A condition that it computes earlier, before a loop or under a
// product, waits as a mask of lanes in two scalar registers, of which a wave has a hundred.
#pragma once

#include "tk/config.h"

namespace tk {

/// Before a tile is masked: no comparison is made ahead.
__device__ __forceinline__ void begin_masks() { __builtin_amdgcn_sched_barrier(0); }
/// After it.
__device__ __forceinline__ void end_masks() { __builtin_amdgcn_sched_barrier(0); }

/// Whether code that is seldom run is better there once for each register than for one that is found when it runs: what
/// is kept in registers would be in memory.
inline constexpr bool repeats_code = true;

/// The number of a thread, for what is computed from it.
__device__ __forceinline__ int thread_in_place(int thread) {
  asm volatile("" : "+v"(thread));
  return thread & 1023;
}

/// A condition to branch on that is the same for all threads.
__device__ __forceinline__ bool tested_in_place(bool x) {
  int number = __builtin_amdgcn_readfirstlane(x); // some compilers lose sight of its being so
  asm volatile("" : "+s"(number));
  return number != 0;
}

/// The arguments of a kernel that has A as its only parameter, read where they are used: by a block that takes one tile
/// after the other, else before all of them.
template <class A> __device__ __forceinline__ const A &arguments_in_place() {
  auto arguments = (const __attribute__((address_space(4))) A *)(__builtin_amdgcn_kernarg_segment_ptr());
  asm volatile("" : "+s"(arguments));
  return *(const A *)(arguments);
}

} // namespace tk
