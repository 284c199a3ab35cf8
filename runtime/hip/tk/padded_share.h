// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of six bits from global to shared memory through registers: 12 bytes of each row to 16.
//
// A lane gives a product 32 neighbours along k, two chunks. So that it reads them as it reads float8, half a row apart,
// where no banks conflict, the first halves of a panel's blocks of 32 lie before all second ones.
#pragma once

#include "tk/packed.h"
#include "tk/padded.h"
#include "tk/register_copy.h"

namespace tk {

/// A thread's share of a tile, in chunks of 16 elements.
template <class T, int Rows, int Cols, int Threads> struct padded_share {
  static_assert(Cols % 32 == 0, "rows of whole blocks");
  using chunks = own_chunks<Rows, Cols / padded_elements, 1, Threads>;
  u32 words[chunks::each][3];

  /// ← packed rows, in bytes; what lies outside is zero. 12 bytes at a time where all rows have whole words.
  __device__ __forceinline__ void fetch(const view<const u8> &from, int thread) {
    const buffer_view<u8> buffer(from);
    const bool whole = (u64(from.base) | u64(from.row_stride)) % 4 == 0 && from.col_begin % padded_bytes == 0 &&
                       from.col_end % padded_bytes == 0;
    if (tested_in_place(whole))
      chunks::for_each(thread, [&](int i, int r, int chunk) {
        const auto all =
            __builtin_amdgcn_raw_buffer_load_b96(buffer.descriptor, int(buffer.offset(r, chunk * padded_bytes)), 0, 0);
        words[i][0] = all[0], words[i][1] = all[1], words[i][2] = all[2];
      });
    else
      chunks::for_each(thread_in_place(thread), [&](int i, int r, int chunk) {
        u8 bytes[padded_bytes];
#pragma unroll
        for (int byte = 0; byte < padded_bytes; ++byte)
          bytes[byte] = buffer.load_element(r, chunk * padded_bytes + byte);
        __builtin_memcpy(words[i], bytes, padded_bytes);
      });
  }

  template <class Tile> __device__ __forceinline__ void place(Tile &to, int thread) const {
    static_assert(same<typename Tile::element, T> && Tile::rows == Rows && Tile::cols == Cols);
    constexpr int in_panel = Tile::row_bytes / 16, blocks = in_panel / 2;
    const u32 address = to.address();
    chunks::for_each(thread, [&](int i, int r, int chunk) {
      const int at = chunk % in_panel, place = chunk - at + at / 2 + at % 2 * blocks;
      store_shared_words<3>(address + u32(Tile::offset(r, place * padded_elements)), words[i]);
    });
  }
};

} // namespace tk
