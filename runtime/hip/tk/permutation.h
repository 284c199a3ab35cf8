// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The permutation of a swizzle on the GPU that this is being compiled for.
#pragma once

#include "tk/lds_permutation.h"

namespace tk {

/// Rows after which the permutation repeats.
inline constexpr int permuted_rows = 16;

/// Where the byte `offset` of a panel with rows of Swizzle bytes lies; the panel stands at a multiple of
/// permuted_rows · Swizzle.
template <int Swizzle, int Grain = 16> __host__ __device__ constexpr int permute(int offset) {
  return permute_for<gfx, Swizzle, Grain>(offset);
}

} // namespace tk
