// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers of four bits: two lie in a byte, the first in the low half, in memory and in registers.
#pragma once

#include "tk/small_floats.h"

namespace tk {

/// 0 to 15, in the low bits.
struct u4 {
  unsigned char bits;
};
/// −8 to 7, two's complement in the low bits.
struct i4 {
  unsigned char bits;
};

template <> struct packing<u4> : packing<f4e2m1> {};
template <> struct packing<i4> : packing<f4e2m1> {};

__host__ __device__ inline int widen_integer(u4 x) { return x.bits; }
__host__ __device__ inline int widen_integer(i4 x) { return (x.bits ^ 8) - 8; }

} // namespace tk
