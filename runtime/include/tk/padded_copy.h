// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of six bits to shared memory by threads, where their tensor does not suit the copy engine, laid out as it
// does: 12 bytes of each row, with room for four more.
#pragma once

#include "tk/copy.h"
#include "tk/packed.h"
#include "tk/padded.h"

namespace tk {

/// tile ← packed rows, in bytes; zeros where there are none. Asynchronously, where rows are aligned to 4 bytes;
/// `finish_copies` waits for it.
template <int Threads, class Tile>
__device__ __forceinline__ void copy_padded(Tile &to, const view<const u8> &from, int thread) {
  constexpr int across = Tile::cols / padded_elements;
  static_assert(is_padded<typename Tile::element> && Tile::cols % padded_elements == 0, "rows of whole chunks");
  const u32 alignment = u32(reinterpret_cast<size_t>(from.base)) | u32(from.row_stride);
  const bool by_words = alignment % 4 == 0 && from.col_begin <= 0;
#pragma unroll 1
  for (int i = thread; i < Tile::rows * across; i += Threads) {
    const int r = i / across, c = i % across * padded_bytes;
    const u32 address = shared_address(to.at(r, i % across * padded_elements));
    const bool exists = from.has_row(r);
#pragma unroll 1
    for (int at = 0; at < padded_bytes; at += 4) {
      const int left = exists ? from.cols_from(c + at) : 0;
      if (by_words) {
        copy_bytes_async<4>(address + u32(at), from.at(r, c + at), left < 4 ? left : 4);
        continue;
      }
      u32 word = 0;
#pragma unroll 1
      for (int byte = 0; byte < 4; ++byte)
        if (exists && from.has_col(c + at + byte))
          word |= u32(*from.at(r, c + at + byte)) << 8 * byte;
      store_shared_words<1>(address + u32(at), &word);
    }
  }
}

} // namespace tk
