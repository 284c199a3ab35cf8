// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies from global to shared memory that run while the threads that started them go on: 16 bytes a thread.
//
// A thread's copies between two `copy_commit` make a group; `copy_wait<N>` returns when all but the newest N groups of
// the calling thread have come, and a barrier tells the others. What lies outside the tensor arrives as zeros. PTX ISA,
// "cp.async".
#pragma once

#include "tk/copy.h"
#include "tk/shared_copy.h"
#include "tk/words.h"

namespace tk {

/// shared ← 16 bytes, of which so many exist; the others are zeros, and not read.
__device__ __forceinline__ void copy_async_16_of(u32 to, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(__cvta_generic_to_global(from)),
               "r"(bytes)
               : "memory");
}
/// shared ← 16 bytes, or zeros where they do not exist.
__device__ __forceinline__ void copy_async_16(u32 to, const void *from, bool exists) {
  copy_async_16_of(to, from, exists ? 16 : 0);
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Groups> __device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

/// Element by element: for tensors that no wider access suits. As little code as can be, and nothing that is computed
/// ahead, since it stands in loops whose registers are all in use.
template <int Threads, class Tile, class T>
__device__ __forceinline__ void copy_by_elements(Tile &to, const view<T, 16> &from, int thread) {
#pragma unroll 1
  for (int i = computed_here(thread); i < Tile::rows * Tile::cols; i += Threads) {
    const int r = i / Tile::cols, c = i % Tile::cols;
    *to.at(r, c) = from.has_row(r) && from.has_col(c) ? *from.at(r, c) : typename Tile::element{};
  }
}

/// tile ← the view, by Threads threads; `thread` is the caller's number among them. `wide`, the same for all threads:
/// base, pitch and bounds are multiples of 16 bytes. Where they are not, the copy is done by elements at once.
template <int Threads, class Tile, class T>
__device__ __forceinline__ void copy_async(Tile &to, bool wide, const view<T, 16> &from, int thread) {
  constexpr int count = 16 / int(sizeof(T));
  constexpr int across = Tile::cols / count;
  static_assert(Tile::cols % count == 0, "rows of whole 16-byte chunks");
  if (!wide) {
    copy_by_elements<Threads>(to, from, thread);
    return;
  }
  if constexpr (Threads % across == 0 && Threads / across * Tile::row_bytes % (8 * 128) == 0) {
    // A thread keeps its column, and its place in the swizzle, from row to row.
    constexpr int step = Threads / across;
    const int first = thread / across, c = thread % across * count;
    const bool has_col = from.has_col(c);
    const T *source = from.at(first, c);
    const u32 place = to.address() + u32(Tile::offset(first, c));
#pragma unroll
    for (int r = 0; r < Tile::rows; r += step) {
      if (Tile::rows % step == 0 || first + r < Tile::rows)
        copy_async_16(place + u32(r * Tile::row_bytes), source, has_col && from.has_row(first + r));
      source += step * from.row_stride;
    }
  } else { // places are computed where they are used: ahead of a loop they would take four registers each
#pragma unroll 4
    for (int i = computed_here(thread); i < Tile::rows * across; i += Threads) {
      const int r = i / across, c = i % across * count;
      copy_async_16(to.address() + u32(Tile::offset(r, c)), from.at(r, c), from.has_row(r) && from.has_col(c));
    }
  }
}

} // namespace tk
