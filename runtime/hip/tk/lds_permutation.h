// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The permutations of swizzles for the LDS of each GPU: the number of a 16-byte chunk in its row is XORed with bits of
// the row's number r0, r1, …, so that lanes that are served together meet no other's bank. A unit test goes through all
// lanes.
//
// The LDS of gfx90a and gfx942 serves 128 bytes at once: of 16 bytes eight lanes, of eight rows along k; of elements of
// 16 bits 32 lanes, which are one row of 32 columns, or two of 16, four or eight rows apart. So the XOR is that of
// NVIDIA's swizzles for eight rows, and r3 stands in the highest bit of the chunk. An accumulator's lane has 8 bytes to
// store: 16 rows at once, with the same half of their chunks; so in tiles of grain 8 the halves change places by r3.
// One of 8-bit elements has 4 bytes: up to 32 rows at once; in tiles of grain 4 neighbouring words change places by r4,
// too.
//
// That of gfx950 serves 256 bytes of a read: lanes 0–3, 12–15 and 20–27 of 16 bytes together, or 32 neighbours of 8
// bytes; of a write 128 bytes, eight neighbours of 16 bytes. So no two of these may meet in a chunk, for blocks of 32
// and of 16 rows, along k and, by transposing reads, down the columns.
#pragma once

#include "tk/config.h"

namespace tk {

/// Where the byte `offset` of a panel with rows of Swizzle bytes lies, on GPU number Gpu (as in config.h). What is
/// XORed is the XOR of what each bit of the row's number contributes.
template <int Gpu, int Swizzle, int Grain = 16> __host__ __device__ constexpr int permute_for(int offset) {
  const auto row = [&](int bit) { return offset / Swizzle >> bit & 1; };
  if constexpr (Gpu != 950) {
    const int inChunk = (Grain <= 8 ? row(3) << 3 : 0) | (Grain == 4 ? row(4) << 2 : 0);
    if constexpr (Swizzle == 128)
      return offset ^ (inChunk | row(0) << 4 | row(1) << 5 | (row(2) ^ row(3)) << 6);
    else if constexpr (Swizzle == 64)
      return offset ^ (inChunk | row(1) << 4 | (row(2) ^ row(3)) << 5);
    else
      return offset ^ (inChunk | row(2) << 4);
  } else {
    static_assert(Grain == 16, "16-byte chunks stay whole");
    if constexpr (Swizzle == 128)
      return offset ^ ((row(0) ^ row(3)) << 4 | (row(2) ^ row(3)) << 5 | row(1) << 6);
    else if constexpr (Swizzle == 64)
      return offset ^ ((row(1) ^ row(3)) << 4 | (row(2) ^ row(3)) << 5);
    else
      return offset ^ (row(2) ^ row(3)) << 4;
  }
}

} // namespace tk
