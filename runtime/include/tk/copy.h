// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies from global to shared memory by threads: for operands that the copy engine cannot take (misaligned, gathered,
// or transposed on the way), laid out exactly as it would.
//
// What lies outside is filled with zeros, as the copy engine does. Afterwards every copying thread waits for its copies
// and fences (`finish_copies`), then arrives at the barrier that the readers wait for.
#pragma once

#include "tk/memory.h"
#include "tk/shared.h"
#include "tk/sync.h"
#include "tk/words.h"

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

/// Words of a source whose columns are contiguous, 16 bytes of each of a tile's rows at a time: a thread reads
/// `columns` words, each of the same `rows` rows, and turns them.
template <class Tile> struct turned_block {
  using T = typename Tile::element;
  static constexpr int size = sizeof(T);
  static constexpr bool exists = (size == 1 || size == 4) && Tile::rows * size % 4 == 0 && Tile::cols * size % 16 == 0;
  static constexpr int rows = exists ? 4 / size : 1, columns = exists ? 16 / size : 1;
  static constexpr int down = Tile::rows / rows, across = Tile::cols / columns; ///< so many blocks
  // Neighbouring threads have eight blocks below each other, a sector of memory, and then up to four side by side:
  // their stores spread over the banks of a swizzled tile.
  static constexpr int near_down = down % 8 == 0 ? 8 : 1, near_across = across % 4 == 0 ? 4 : 1;

  /// The first row and column of block i.
  static __device__ __forceinline__ int row(int i) {
    return (i / (near_down * near_across) % (down / near_down) * near_down + i % near_down) * rows;
  }
  static __device__ __forceinline__ int col(int i) {
    return (i / (near_down * near_across) / (down / near_down) * near_across + i / near_down % near_across) * columns;
  }
};

/// Byte i of word j becomes byte j of word i.
__device__ __forceinline__ void turn_bytes(u32 &a, u32 &b, u32 &c, u32 &d) {
  constexpr u32 even = 0x00ff00ff;
  const u32 low_even = (a & even) | (b & even) << 8, low_odd = (a >> 8 & even) | (b & ~even);
  const u32 high_even = (c & even) | (d & even) << 8, high_odd = (c >> 8 & even) | (d & ~even);
  a = (low_even & 0xffff) | high_even << 16;
  b = (low_odd & 0xffff) | high_odd << 16;
  c = low_even >> 16 | (high_even & 0xffff0000);
  d = low_odd >> 16 | (high_odd & 0xffff0000);
}

template <class T> __device__ __forceinline__ u32 element_bits(const T &x) {
  if constexpr (sizeof(T) == 1)
    return reinterpret_cast<const u8 &>(x);
  else
    return reinterpret_cast<const u32 &>(x);
}

/// Block i of them; zeros where there is nothing.
template <class Tile, class T, int Align>
__device__ __forceinline__ void load_turned(u32 (&words)[turned_block<Tile>::columns], const view<T, Align> &from,
                                            int i) {
  using block = turned_block<Tile>;
  const int r = block::row(i), c = block::col(i);
  const bool is_block = i < block::down * block::across;
  if (is_block && from.has_row(r) && from.has_row(r + block::rows - 1) && from.has_col(c) &&
      from.has_col(c + block::columns - 1)) {
    const T *at = from.at(r, c);
#pragma unroll
    for (int j = 0; j < block::columns; ++j, at += from.col_stride)
      load_words<1>(at, &words[j]);
    return;
  }
#pragma unroll
  for (int j = 0; j < block::columns; ++j) {
    words[j] = 0;
#pragma unroll 1
    for (int k = 0; k < block::rows; ++k)
      if (is_block && from.has_row(r + k) && from.has_col(c + j))
        words[j] |= element_bits(*from.at(r + k, c + j)) << 8 * k;
  }
}

template <class Tile>
__device__ __forceinline__ void store_turned(Tile &to, u32 (&words)[turned_block<Tile>::columns], int i) {
  using block = turned_block<Tile>;
  if (i >= block::down * block::across)
    return;
  if constexpr (block::size == 1)
#pragma unroll
    for (int j = 0; j < block::columns; j += 4)
      turn_bytes(words[j], words[j + 1], words[j + 2], words[j + 3]);
#pragma unroll
  for (int k = 0; k < block::rows; ++k)
    *reinterpret_cast<uint4 *>(to.at(block::row(i) + k, block::col(i))) =
        make_uint4(words[k], words[block::rows + k], words[2 * block::rows + k], words[3 * block::rows + k]);
}

/// tile ← a view whose columns are contiguous and begin where words do. Each thread has 12 or 16 words on their way.
template <int Threads, class Tile, class T, int Align>
__device__ __forceinline__ void copy_turned_words(Tile &to, const view<T, Align> &from, int thread) {
  using block = turned_block<Tile>;
  constexpr int at_once = block::size == 1 ? 1 : 3; // more of them spill beside 56 registers
#pragma unroll 1
  for (int first = thread; first < block::down * block::across; first += Threads * at_once) {
    u32 words[at_once][block::columns];
#pragma unroll
    for (int n = 0; n < at_once; ++n)
      load_turned<Tile>(words[n], from, first + n * Threads);
#pragma unroll
    for (int n = 0; n < at_once; ++n)
      store_turned(to, words[n], first + n * Threads);
  }
}

/// tile ← the view.
template <int Threads, bool DownFirst = false, class Tile, class T, int Align>
__device__ __forceinline__ void copy_to_shared(Tile &to, const view<T, Align> &from, int thread) {
  if constexpr (DownFirst && turned_block<Tile>::exists && same<pointer<T>, T *>)
    if (from.row_stride == 1 &&
        (reinterpret_cast<size_t>(from.base) | size_t(from.col_stride * i64(sizeof(T)))) % 4 == 0) {
      copy_turned_words<Threads>(to, from, thread);
      return;
    }
  constexpr int size = sizeof(T);
  constexpr int bytes = Align > 16 ? 16 : Align;
  constexpr int count = bytes >= 4 && bytes >= size ? bytes / size : 1;
  constexpr bool divides = Tile::cols % count == 0;
  copy_elements<Threads, divides ? count : 1, DownFirst>(to, thread, [&](int r, int c) -> const T * {
    return from.has_row(r) && from.has_col(c) ? from.at(r, c) : nullptr;
  });
}

/// One asynchronous copy of 4, 8 or 16 aligned bytes, of which the first `present` exist; the rest is zero.
template <int Bytes> __device__ __forceinline__ void copy_bytes_async(u32 to, const void *from, int present) {
  const size_t source = __cvta_generic_to_global(from);
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(source), "r"(present) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(source), "n"(Bytes), "r"(present)
                 : "memory");
}

/// 16 bytes of elements of `Size` bytes from any address, of which the first `present` exist; the rest is zero: the
/// aligned words around them, and what there is of the last one.
template <int Size> struct straddling_chunk {
  u32 words[4], tail; ///< tail: the bytes of the last word, where not all of it exists
  int shift, end;     ///< bytes by which the chunk starts and ends after the first word

  __device__ __forceinline__ void load(const void *from, int present) {
    const auto address = reinterpret_cast<size_t>(from);
    const auto *aligned = reinterpret_cast<const u32 *>(address & ~size_t(3));
    shift = int(address & 3);
    end = present > 0 ? shift + present : 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      words[i] = 4 * i + 4 <= end ? aligned[i] : 0;
    tail = 0;
    if constexpr (Size == 2)
      tail = end % 4 != 0 ? *reinterpret_cast<const u16 *>(aligned + end / 4) : 0;
    else if constexpr (Size == 1)
#pragma unroll
      for (int i = 0; i < 3; ++i)
        tail |= i < end % 4 ? u32(reinterpret_cast<const u8 *>(aligned + end / 4)[i]) << 8 * i : 0;
  }
  __device__ __forceinline__ uint4 get() const {
    u32 all[5];
#pragma unroll
    for (int i = 0; i < 5; ++i)
      all[i] = end / 4 == i ? tail : i < 4 ? words[i < 4 ? i : 0] : 0;
    return make_uint4(__funnelshift_r(all[0], all[1], shift * 8), __funnelshift_r(all[1], all[2], shift * 8),
                      __funnelshift_r(all[2], all[3], shift * 8), __funnelshift_r(all[3], all[4], shift * 8));
  }
};

/// Rows r, r + Step, … of a tile from the chunk at column c on ← the view, of which `present` bytes exist in each row
/// that does; else zeros. `Batch` rows are on their way at once.
template <int Step, int Batch, class Tile, class T>
__device__ __forceinline__ void copy_straddling(Tile &to, const view<T> &from, int r, int c, int present) {
#pragma unroll 1
  for (; r < Tile::rows; r += Step * Batch) {
    straddling_chunk<sizeof(T)> loaded[Batch];
#pragma unroll
    for (int j = 0; j < Batch; ++j)
      loaded[j].load(from.at(r + j * Step, c), from.has_row(r + j * Step) ? present : 0);
#pragma unroll
    for (int j = 0; j < Batch; ++j)
      if (Tile::rows % (Step * Batch) == 0 || r + j * Step < Tile::rows)
        *reinterpret_cast<uint4 *>(to.at(r + j * Step, c)) = loaded[j].get();
  }
}

/// The same where rows are aligned to Bytes, asynchronously.
template <int Step, int Bytes, class Tile, class T>
__device__ __forceinline__ void copy_aligned(Tile &to, const view<T> &from, int r, int c, int present) {
#pragma unroll 1
  for (; r < Tile::rows; r += Step) {
    const int bytes = from.has_row(r) ? present : 0;
    const u32 address = shared_address(to.at(r, c));
    const auto *source = reinterpret_cast<const u8 *>(from.at(r, c));
    // Every eight lanes are 128 bytes: the next ones take other banks.
    const int first = computed_here(int(threadIdx.x)) / 8 * Bytes % 16;
#pragma unroll
    for (int i = 0; i < 16; i += Bytes) {
      const int at = first ^ i, left = bytes - at;
      copy_bytes_async<Bytes>(address + u32(at), source + at, left < 0 ? 0 : left < Bytes ? left : Bytes);
    }
  }
}

/// What all rows of a view begin at multiples of, in bytes: its lowest bit.
template <class T> __device__ __forceinline__ u32 row_alignment(const view<T> &from) {
  return u32(reinterpret_cast<size_t>(from.base)) | u32(from.row_stride) * u32(sizeof(T));
}

/// tile ← the view, whose columns are contiguous: chunks of 16 bytes, asynchronously where rows are aligned to 4 bytes
/// or more, else through registers, `Batch` chunks of a thread at once. `finish_copies` waits for them. Nothing is done
/// unless it `copies`.
template <int Threads, int Batch = 2, class Tile, class T>
__device__ __forceinline__ void copy_rows_to_shared(Tile &to, const view<T> &from, int thread, bool copies = true) {
  constexpr int count = 16 / int(sizeof(T)), across = Tile::cols / count;
  constexpr int lanes = across < Threads ? across : Threads, step = Threads / lanes;
  static_assert(Tile::cols % count == 0, "whole chunks");
  if (!copies)
    return;
  const u32 alignment = row_alignment(from);
  if (thread / lanes >= step)
    return;
#pragma unroll 1
  for (int chunk = thread % lanes; chunk < across; chunk += lanes) {
    const int r = thread / lanes, c = chunk * count;
    if (c < from.col_begin && c + count > from.col_begin) { // begins within the chunk
#pragma unroll 1
      for (int row = r; row < Tile::rows; row += step)
#pragma unroll 1
        for (int e = 0; e < count; ++e)
          *to.at(row, c + e) =
              from.has_row(row) && from.has_col(c + e) ? *from.at(row, c + e) : typename Tile::element{};
      continue;
    }
    const int left = c < from.col_begin ? 0 : from.cols_from(c);
    const int present = (left < count ? left : count) * int(sizeof(T));
    if (alignment % 16 == 0)
      copy_aligned<step, 16>(to, from, r, c, present);
    else if (alignment % 8 == 0)
      copy_aligned<step, 8>(to, from, r, c, present);
    else if (alignment % 4 == 0)
      copy_aligned<step, 4>(to, from, r, c, present);
    else
      copy_straddling<step, Batch>(to, from, r, c, present);
  }
}

/// Waits for what this thread copies, and lets the matrix engine see it.
__device__ __forceinline__ void finish_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
  fence_proxy_async();
}

/// vector ← the `count` elements that exist from `from` on, then zeros.
template <int Threads, class T, int Count>
__device__ __forceinline__ void copy_to_shared(shared_vector<T, Count> &to, const T *from, int count, int thread) {
  for (int i = thread; i < Count; i += Threads)
    to.elements[i] = i < count ? from[i] : T{};
}

} // namespace tk
