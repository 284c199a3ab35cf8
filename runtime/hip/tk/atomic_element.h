// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic updates of elements in global memory, unordered.
#pragma once

#include "tk/words.h"

namespace tk {

__device__ __forceinline__ void atomic_add_element(float *to, float x) {
  __builtin_amdgcn_global_atomic_fadd_f32((in_global<float> *)(to), x);
}
__device__ __forceinline__ void atomic_add_element(double *to, double x) {
  __builtin_amdgcn_global_atomic_fadd_f64((in_global<double> *)(to), x);
}
__device__ __forceinline__ void atomic_add_element(int *to, int x) {
  __hip_atomic_fetch_add(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ __forceinline__ void atomic_add_element(i64 *to, i64 x) {
  __hip_atomic_fetch_add(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

/// A 16-bit element is added within the word that holds it, until no other update came between.
template <class T> __device__ __forceinline__ void atomic_add_half_word(T *to, T x) {
  const u64 address = reinterpret_cast<u64>(to);
  u32 *word = reinterpret_cast<u32 *>(address & ~u64(3));
  const int shift = int(address & 2) * 8;
  u32 before = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), after;
  do {
    const float sum = to_float(T{u16(before >> shift)}) + to_float(x);
    after = (before & ~(0xffffu << shift)) | u32(from_float<T>(sum).bits) << shift;
  } while (!__hip_atomic_compare_exchange_weak(word, &before, after, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                               __HIP_MEMORY_SCOPE_AGENT));
}
__device__ __forceinline__ void atomic_add_element(bf16 *to, bf16 x) { atomic_add_half_word(to, x); }
__device__ __forceinline__ void atomic_add_element(half *to, half x) { atomic_add_half_word(to, x); }

__device__ __forceinline__ void atomic_max_element(int *to, int x) {
  __hip_atomic_fetch_max(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ __forceinline__ void atomic_min_element(int *to, int x) {
  __hip_atomic_fetch_min(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ __forceinline__ void atomic_max_element(i64 *to, i64 x) {
  __hip_atomic_fetch_max(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ __forceinline__ void atomic_min_element(i64 *to, i64 x) {
  __hip_atomic_fetch_min(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ __forceinline__ void atomic_max_bits(u32 *to, u32 x) {
  __hip_atomic_fetch_max(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ __forceinline__ void atomic_min_bits(u32 *to, u32 x) {
  __hip_atomic_fetch_min(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
/// Floats of one sign order as integers of their bits do; NaN is ignored.
__device__ __forceinline__ void atomic_max_element(float *to, float x) {
  const int bits = __builtin_bit_cast(int, x);
  if (bits >= 0 && x == x)
    atomic_max_element(reinterpret_cast<int *>(to), bits);
  else if (x == x)
    atomic_min_bits(reinterpret_cast<u32 *>(to), u32(bits));
}
__device__ __forceinline__ void atomic_min_element(float *to, float x) {
  const int bits = __builtin_bit_cast(int, x);
  if (bits >= 0 && x == x)
    atomic_min_element(reinterpret_cast<int *>(to), bits);
  else if (x == x)
    atomic_max_bits(reinterpret_cast<u32 *>(to), u32(bits));
}

/// So many, one after another.
template <int Count> __device__ __forceinline__ void atomic_add_elements(float *to, const float *values) {
#pragma unroll
  for (int i = 0; i < Count; ++i)
    atomic_add_element(to + i, values[i]);
}

} // namespace tk
