// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nvcc defines before the first line of a file: keywords, built-in variables and device functions. Read by Clang
// only, ahead of every file that the emulator compiles. Functions stand on Clang's builtins; what is left of those in
// the IR, the emulator's models serve.
#pragma once

#define __CUDACC__ 1
#define TKC_EMULATOR 1
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __grid_constant__ __attribute__((grid_constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...) __attribute__((cluster_dims(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))

#include "__clang_cuda_builtin_vars.h"

#include <stddef.h>

#define TKC_DEVICE static __inline__ __attribute__((device, always_inline))

TKC_DEVICE size_t __cvta_generic_to_shared(const void *p) {
  return (size_t)(__attribute__((address_space(3))) const void *)p;
}
TKC_DEVICE size_t __cvta_generic_to_global(const void *p) {
  return (size_t)(__attribute__((address_space(1))) const void *)p;
}
TKC_DEVICE void *__cvta_shared_to_generic(size_t p) { return (void *)(__attribute__((address_space(3))) void *)p; }
TKC_DEVICE void *__cvta_global_to_generic(size_t p) { return (void *)(__attribute__((address_space(1))) void *)p; }

TKC_DEVICE void __syncwarp(unsigned mask = ~0u) { __nvvm_bar_warp_sync(mask); }
TKC_DEVICE void __threadfence() { __nvvm_membar_gl(); }
TKC_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
TKC_DEVICE void __nanosleep(unsigned) {}
TKC_DEVICE void __trap() { __builtin_trap(); }

TKC_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
TKC_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
TKC_DEVICE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
TKC_DEVICE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
TKC_DEVICE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
TKC_DEVICE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
TKC_DEVICE float __double2float_rz(double x) { return __nvvm_d2f_rz(x); }
TKC_DEVICE float __double2float_rn(double x) { return (float)x; }
TKC_DEVICE float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
TKC_DEVICE float __fdividef(float x, float y) { return x / y; }
TKC_DEVICE unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
TKC_DEVICE int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
TKC_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)((unsigned __int128)x * y >> 64);
}
TKC_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
TKC_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
TKC_DEVICE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
TKC_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
TKC_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
TKC_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  return __nvvm_prmt(x, y, selector & 0x7777u);
}
TKC_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}
TKC_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(((unsigned long long)high << 32 | low) << (by & 31) >> 32);
}
TKC_DEVICE unsigned __activemask() { return __nvvm_activemask(); }
TKC_DEVICE int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p != 0); }
TKC_DEVICE int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p != 0); }
TKC_DEVICE unsigned __ballot_sync(unsigned mask, int p) { return __nvvm_vote_ballot_sync(mask, p != 0); }
TKC_DEVICE long long clock64() { return (long long)__builtin_readcyclecounter(); }

// The segment mask and clamp of a shuffle, as PTX takes them: PTX ISA, "shfl.sync".
#define TKC_SHUFFLE(name, builtin, clamp)                                                                              \
  TKC_DEVICE int name(unsigned mask, int x, int by, int width = 32) {                                                  \
    return builtin(mask, x, by, ((32 - width) << 8) | (clamp));                                                        \
  }                                                                                                                    \
  TKC_DEVICE unsigned name(unsigned mask, unsigned x, int by, int width = 32) {                                        \
    return (unsigned)name(mask, (int)x, by, width);                                                                    \
  }                                                                                                                    \
  TKC_DEVICE float name(unsigned mask, float x, int by, int width = 32) {                                              \
    return __int_as_float(name(mask, __float_as_int(x), by, width));                                                   \
  }                                                                                                                    \
  TKC_DEVICE long long name(unsigned mask, long long x, int by, int width = 32) {                                      \
    const unsigned low = (unsigned)name(mask, (int)x, by, width);                                                      \
    const long long high = name(mask, (int)(x >> 32), by, width);                                                      \
    return high << 32 | low;                                                                                           \
  }                                                                                                                    \
  TKC_DEVICE unsigned long long name(unsigned mask, unsigned long long x, int by, int width = 32) {                    \
    return (unsigned long long)name(mask, (long long)x, by, width);                                                    \
  }                                                                                                                    \
  TKC_DEVICE long name(unsigned mask, long x, int by, int width = 32) {                                                \
    return (long)name(mask, (long long)x, by, width);                                                                  \
  }                                                                                                                    \
  TKC_DEVICE double name(unsigned mask, double x, int by, int width = 32) {                                            \
    return __longlong_as_double(name(mask, __double_as_longlong(x), by, width));                                       \
  }
TKC_SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_i32, 31)
TKC_SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_i32, 0)
TKC_SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_i32, 31)
TKC_SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_i32, 31)
#undef TKC_SHUFFLE

// The math library's functions, by the builtins of their names.
#define TKC_MATH1(name)                                                                                                \
  TKC_DEVICE double name(double x) { return __builtin_##name(x); }                                                     \
  TKC_DEVICE float name##f(float x) { return __builtin_##name##f(x); }
#define TKC_MATH2(name)                                                                                                \
  TKC_DEVICE double name(double x, double y) { return __builtin_##name(x, y); }                                        \
  TKC_DEVICE float name##f(float x, float y) { return __builtin_##name##f(x, y); }
TKC_MATH1(exp)
TKC_MATH1(exp2)
TKC_MATH1(expm1)
TKC_MATH1(log)
TKC_MATH1(log2)
TKC_MATH1(log10)
TKC_MATH1(log1p)
TKC_MATH1(sqrt)
TKC_MATH1(cbrt)
TKC_MATH1(sin)
TKC_MATH1(cos)
TKC_MATH1(tan)
TKC_MATH1(asin)
TKC_MATH1(acos)
TKC_MATH1(atan)
TKC_MATH1(sinh)
TKC_MATH1(cosh)
TKC_MATH1(tanh)
TKC_MATH1(erf)
TKC_MATH1(erfc)
TKC_MATH1(floor)
TKC_MATH1(ceil)
TKC_MATH1(trunc)
TKC_MATH1(round)
TKC_MATH1(rint)
TKC_MATH1(nearbyint)
TKC_MATH1(fabs)
TKC_MATH2(fmax)
TKC_MATH2(fmin)
TKC_MATH2(fmod)
TKC_MATH2(pow)
TKC_MATH2(atan2)
TKC_MATH2(hypot)
TKC_MATH2(copysign)
#undef TKC_MATH1
#undef TKC_MATH2
TKC_DEVICE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
TKC_DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
TKC_DEVICE double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
TKC_DEVICE float rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }
TKC_DEVICE double ldexp(double x, int n) { return __builtin_ldexp(x, n); }
TKC_DEVICE float ldexpf(float x, int n) { return __builtin_ldexpf(x, n); }

#undef TKC_DEVICE

#include <cuda_runtime.h>
