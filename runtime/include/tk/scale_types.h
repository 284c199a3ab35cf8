// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f8e8m0, the scales of block-scaled products: powers of two, by integer arithmetic.
#pragma once

#include "tk/config.h"

namespace tk {

/// 2^(bits − 127); 255 is NaN.
struct f8e8m0 {
  unsigned char bits;
};

__host__ __device__ inline float widen_f8e8m0(unsigned code) {
  return __builtin_bit_cast(float, code == 255 ? 0x7fc00000u : code == 0 ? 0x00400000u : code << 23);
}

/// The smallest power of two that is not below x; 2^-127 for what is less, 2^127 at most (as cvt.rp.satfinite does).
__host__ __device__ inline unsigned char narrow_to_f8e8m0(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  if (x != x)
    return 255;
  if (bits >> 31 || bits <= 0x00400000) // up to 2^-127, which is no normal f32
    return 0;
  const unsigned code = (bits + 0x007fffff) >> 23;
  return static_cast<unsigned char>(code > 254 ? 254 : code);
}

} // namespace tk
