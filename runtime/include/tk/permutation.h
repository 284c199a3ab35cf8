// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The permutation of a swizzle: the number of a 16-byte chunk in its row is XORed with bits of the row's number, so
// that eight threads that read one chunk each of eight rows meet no bank conflict (PTX ISA, "Swizzling modes"; the copy
// engine does the same with CU_TENSOR_MAP_SWIZZLE_{32B,64B,128B}).
#pragma once

#include "tk/config.h"

namespace tk {

/// Rows after which the permutation repeats.
inline constexpr int permuted_rows = 8;

/// Where the byte `offset` of a panel with rows of Swizzle bytes lies; the panel stands at a multiple of
/// permuted_rows · Swizzle.
template <int Swizzle, int Grain = 16> __host__ __device__ constexpr int permute(int offset) {
  static_assert(Grain == 16, "16-byte chunks stay whole");
  return offset ^ ((offset >> 7 & (Swizzle / 16 - 1)) << 4);
}

} // namespace tk
