// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic updates of elements in global memory, unordered. Each kind of GPU has this header of its own.
#pragma once

#include "tk/types.h"

namespace tk {

__device__ __forceinline__ void atomic_add_element(float *to, float x) {
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(to), "f"(x) : "memory");
}
__device__ __forceinline__ void atomic_add_element(double *to, double x) {
  asm volatile("red.global.add.f64 [%0], %1;" ::"l"(to), "d"(x) : "memory");
}
__device__ __forceinline__ void atomic_add_element(int *to, int x) {
  asm volatile("red.global.add.s32 [%0], %1;" ::"l"(to), "r"(x) : "memory");
}
__device__ __forceinline__ void atomic_add_element(i64 *to, i64 x) {
  asm volatile("red.global.add.u64 [%0], %1;" ::"l"(to), "l"(x) : "memory");
}
/// Before sm_90 by exchanging until nobody else came between. Rounding the sum to f32 first changes nothing: its 24
/// bits are more than twice bf16's 8 and two.
__device__ __forceinline__ void atomic_add_element(bf16 *to, bf16 x) {
  if constexpr (compute_capability >= 90) {
    asm volatile("red.global.add.noftz.bf16 [%0], %1;" ::"l"(to), "h"(x.bits) : "memory");
  } else {
    const float more = __uint_as_float(u32(x.bits) << 16);
    u16 seen, now;
    asm volatile("ld.relaxed.gpu.global.u16 %0, [%1];" : "=h"(seen) : "l"(to) : "memory");
    do {
      now = seen;
      const u16 sum = u16(pack2_bf16(__uint_as_float(u32(now) << 16) + more, 0.0f));
      asm volatile("atom.global.cas.b16 %0, [%1], %2, %3;" : "=h"(seen) : "l"(to), "h"(now), "h"(sum) : "memory");
    } while (seen != now);
  }
}
__device__ __forceinline__ void atomic_add_element(half *to, half x) {
  asm volatile("red.global.add.noftz.f16 [%0], %1;" ::"l"(to), "h"(x.bits) : "memory");
}

__device__ __forceinline__ void atomic_max_element(int *to, int x) {
  asm volatile("red.global.max.s32 [%0], %1;" ::"l"(to), "r"(x) : "memory");
}
__device__ __forceinline__ void atomic_min_element(int *to, int x) {
  asm volatile("red.global.min.s32 [%0], %1;" ::"l"(to), "r"(x) : "memory");
}
__device__ __forceinline__ void atomic_max_element(i64 *to, i64 x) {
  asm volatile("red.global.max.s64 [%0], %1;" ::"l"(to), "l"(x) : "memory");
}
__device__ __forceinline__ void atomic_min_element(i64 *to, i64 x) {
  asm volatile("red.global.min.s64 [%0], %1;" ::"l"(to), "l"(x) : "memory");
}
/// Floats of one sign order as integers of their bits do; NaN is ignored.
__device__ __forceinline__ void atomic_max_element(float *to, float x) {
  const int bits = __float_as_int(x);
  if (bits >= 0 && x == x)
    asm volatile("red.global.max.s32 [%0], %1;" ::"l"(to), "r"(bits) : "memory");
  else if (x == x)
    asm volatile("red.global.min.u32 [%0], %1;" ::"l"(to), "r"(bits) : "memory");
}
__device__ __forceinline__ void atomic_min_element(float *to, float x) {
  const int bits = __float_as_int(x);
  if (bits >= 0 && x == x)
    asm volatile("red.global.min.s32 [%0], %1;" ::"l"(to), "r"(bits) : "memory");
  else if (x == x)
    asm volatile("red.global.max.u32 [%0], %1;" ::"l"(to), "r"(bits) : "memory");
}

/// Two or four at once; before sm_90 one after the other.
template <int Count> __device__ __forceinline__ void atomic_add_elements(float *to, const float *values) {
  if constexpr (compute_capability < 90)
#pragma unroll
    for (int i = 0; i < Count; ++i)
      atomic_add_element(to + i, values[i]);
  else if constexpr (Count == 4)
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(values[0]), "f"(values[1]),
                 "f"(values[2]), "f"(values[3])
                 : "memory");
  else
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(values[0]), "f"(values[1]) : "memory");
}

} // namespace tk
