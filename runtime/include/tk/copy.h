// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies from global to shared memory by threads: for operands that the copy engine cannot take (misaligned, gathered,
// or transposed on the way), laid out exactly as it would.
//
// What lies outside is filled with zeros, as the copy engine does. Afterwards every copying thread fences
// (`fence_proxy_async`), then arrives at the barrier that the readers wait for.
#pragma once

#include "tk/memory.h"
#include "tk/shared.h"

namespace tk {

/// Stores `Count` elements, or zeros where `from` is null, at their place in the tile.
template <int Count, class Tile>
__device__ __forceinline__ void copy_chunk(Tile &to, int r, int c, const typename Tile::element *from) {
  using T = typename Tile::element;
  if constexpr (Count * sizeof(T) >= 4) {
    constexpr int words = Count * int(sizeof(T)) / 4;
    u32 raw[words] = {};
    if (from)
      load_words<words>(from, raw);
    if constexpr (words == 4)
      *reinterpret_cast<uint4 *>(to.at(r, c)) = make_uint4(raw[0], raw[1], raw[2], raw[3]);
    else if constexpr (words == 2)
      *reinterpret_cast<uint2 *>(to.at(r, c)) = make_uint2(raw[0], raw[1]);
    else
      *reinterpret_cast<u32 *>(to.at(r, c)) = raw[0];
  } else {
    *to.at(r, c) = from ? *from : T{};
  }
}

/// tile ← elements; `at(r, c)` points to one in global memory, or is null. `Count` elements along a row are
/// consecutive, and exist together. By Threads threads; `thread` is the caller's number among them. DownFirst:
/// neighbouring threads take neighbouring rows, for a source whose columns are contiguous.
template <int Threads, int Count = 1, bool DownFirst = false, class Tile, class Accessor>
__device__ __forceinline__ void copy_elements(Tile &to, int thread, Accessor at) {
  constexpr int across = Tile::cols / Count;
  constexpr int chunks = Tile::rows * across;
#pragma unroll 4
  for (int i = thread; i < chunks; i += Threads) {
    const int r = DownFirst ? i % Tile::rows : i / across;
    const int c = (DownFirst ? i / Tile::rows : i % across) * Count;
    copy_chunk<Count>(to, r, c, at(r, c));
  }
}

/// tile ← the view.
template <int Threads, bool DownFirst = false, class Tile, class T, int Align>
__device__ __forceinline__ void copy_to_shared(Tile &to, const view<T, Align> &from, int thread) {
  constexpr int size = sizeof(T);
  constexpr int bytes = Align > 16 ? 16 : Align;
  constexpr int count = bytes >= 4 && bytes >= size ? bytes / size : 1;
  constexpr bool divides = Tile::cols % count == 0;
  copy_elements<Threads, divides ? count : 1, DownFirst>(to, thread, [&](int r, int c) -> const T * {
    return from.has_row(r) && from.has_col(c) ? from.at(r, c) : nullptr;
  });
}

/// vector ← the `count` elements that exist from `from` on, then zeros.
template <int Threads, class T, int Count>
__device__ __forceinline__ void copy_to_shared(shared_vector<T, Count> &to, const T *from, int count, int thread) {
  for (int i = thread; i < Count; i += Threads)
    to.elements[i] = i < count ? from[i] : T{};
}

} // namespace tk
