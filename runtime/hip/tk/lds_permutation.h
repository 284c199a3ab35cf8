// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The permutations of swizzles for the LDS of each GPU: the number of a 16-byte chunk in its row is XORed with bits of
// the row's number.
//
// The LDS of gfx90a and gfx942 serves 128 bytes at once, as NVIDIA's shared memory does, and the same permutation suits
// it. That of gfx950 serves 256 bytes of a read: lanes 0–3, 12–15 and 20–27 of 16 bytes together, or 32 neighbours of 8
// bytes; of a write 128 bytes, eight neighbours of 16 bytes. So no two of these may meet in a chunk, for blocks of 32
// and of 16 rows, along k and, by transposing reads, down the columns. With r0, r1, … the bits of the row's number, the
// XORs below solve the equations that follow; a unit test goes through all lanes.
#pragma once

#include "tk/config.h"

namespace tk {

/// Where the byte `offset` of a panel with rows of Swizzle bytes lies, on GPU number Gpu (as in config.h).
template <int Gpu, int Swizzle> __host__ __device__ constexpr int permute_for(int offset) {
  if constexpr (Gpu != 950) {
    return offset ^ ((offset >> 7 & (Swizzle / 16 - 1)) << 4);
  } else {
    const auto row = [&](int bit) { return offset / Swizzle >> bit & 1; };
    if constexpr (Swizzle == 128)
      return offset ^ ((row(0) ^ row(3)) << 4 | (row(2) ^ row(3)) << 5 | row(1) << 6);
    else if constexpr (Swizzle == 64)
      return offset ^ ((row(1) ^ row(3)) << 4 | (row(2) ^ row(3)) << 5);
    else
      return offset ^ (row(2) ^ row(3)) << 4;
  }
}

} // namespace tk
