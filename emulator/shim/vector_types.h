// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA's short vectors, with the alignment that makes a load of one a single access.
#pragma once

#define TKC_VECTORS(name, type)                                                                                        \
  struct name##1 { type x; };                                                                                          \
  struct __attribute__((aligned(2 * sizeof(type)))) name##2 { type x, y; };                                            \
  struct name##3 { type x, y, z; };                                                                                    \
  struct __attribute__((aligned(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)))) name##4 { type x, y, z, w; };         \
  static __inline__ __host__ __device__ constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  static __inline__ __host__ __device__ constexpr name##4 make_##name##4(type x, type y, type z, type w) {             \
    return {x, y, z, w};                                                                                               \
  }
TKC_VECTORS(char, signed char)
TKC_VECTORS(uchar, unsigned char)
TKC_VECTORS(short, short)
TKC_VECTORS(ushort, unsigned short)
TKC_VECTORS(int, int)
TKC_VECTORS(uint, unsigned)
TKC_VECTORS(longlong, long long)
TKC_VECTORS(ulonglong, unsigned long long)
TKC_VECTORS(float, float)
TKC_VECTORS(double, double)
#undef TKC_VECTORS
