// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The negation of i32, which wraps: that of the least number is itself.
#pragma once

#include "tk/config.h"

namespace tk {

/// ptxas of CUDA 12.8 and 13.0 (not of 13.5) fuses max(z, max(x, -y)) into one instruction, VIMNMX3, and drops the sign
/// of y; min(z, min(x, -y)) alike. This was seen for sm_90a and sm_100a. ptxas does not look through a permutation of
/// bytes, so one that changes nothing prevents it.
__device__ __forceinline__ int negate(int x) {
  const unsigned negative = 0u - unsigned(x);
  if constexpr (compute_capability >= 90 && compute_capability < 120)
    return int(__byte_perm(negative, 0, 0x3210));
  return int(negative);
}

} // namespace tk
