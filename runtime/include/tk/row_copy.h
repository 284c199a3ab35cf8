// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of one row from global to shared memory while its threads go on: as tiles are (tk/cp_async.h).
#pragma once

#include "tk/cp_async.h"
#include "tk/led_rows.h"

namespace tk {

/// vector ← the view's row, zeros beyond its end, by Threads threads; `thread` is the caller's number among them.
/// `wide`, the same for all threads: the row begins and ends at multiples of 16 bytes. Where it does not, the copy is
/// done by elements at once, of which a thread has several on their way.
template <int Threads, class T, int Count>
__device__ __forceinline__ void copy_row_async(shared_vector<T, Count> &to, bool wide, const view<const T, 16> &from,
                                               int thread) {
  constexpr int count = 16 / int(sizeof(T));
  static_assert(Count % count == 0, "whole 16-byte chunks");
  if (wide) {
#pragma unroll 8
    for (int c = thread * count; c < Count; c += Threads * count)
      copy_async_16(to.address() + u32(c * int(sizeof(T))), from.at(0, c), from.has_col(c));
  } else {
#pragma unroll 8
    for (int c = thread; c < Count; c += Threads)
      to.elements[c] = from.has_col(c) ? *from.at(0, c) : T{};
  }
}

/// The same of rows that begin anywhere: a column lies `lead` elements further on in the vector, which has 16 bytes
/// more than the tile, so that its chunks are those of memory. What lies before the row comes along, but for what lies
/// before `tensor`, where its memory begins.
template <int Threads, class T, int Count>
__device__ __forceinline__ void copy_led_row_async(shared_vector<T, Count> &to, lead before, const T *tensor,
                                                   const view<const T, 16> &from, int thread) {
  constexpr int count = 16 / int(sizeof(T)), cols = Count - count;
  static_assert(cols % (Threads * count) == 0, "threads with as many 16-byte chunks each");
  const int first = thread * count - before.columns;
  const T *source = from.at(0, first);
  const u32 target = to.address() + u32(thread * 16);
  const int left = min(from.col_end, cols) - first;
  const auto copy = [&](int i) { // chunk i of the thread
    const int c = i * Threads * count;
    copy_async_16_of(target + u32(c * int(sizeof(T))), source + c, min(max(left - c, 0), count) * int(sizeof(T)));
  };
  if (suits<count>(from.base, before)) {
    const bool begins = from.at(0, -before.columns) < tensor;
    if (thread > 0 || !begins)
      copy(0);
#pragma unroll 8
    for (int i = 1; i < cols / (Threads * count); ++i)
      copy(i);
    if (thread == 0)
      copy(cols / (Threads * count));
    if (thread == 0 && begins)
      for (int i = 0; i < count; ++i)
        to.elements[i] = from.has_col(i - before.columns) ? *from.at(0, i - before.columns) : T{};
  } else {
#pragma unroll 8
    for (int place = thread; place < Count; place += Threads) {
      const int c = place - before.columns;
      to.elements[place] = c < Count - count && from.has_col(c) ? *from.at(0, c) : T{};
    }
  }
}

/// X ← what the copy of a row brought.
template <tile X, class T, int Count>
__device__ __forceinline__ X load_led_shared(lead before, const shared_vector<T, Count> &from) {
  using L = typename X::layout;
  constexpr int count = shared_chunk<X>();
  static_assert(L::run == count && Count == X::cols + count, "vectors of 16 bytes, and one more than the tile has");
  X result = load_shared<X>(from);
  if (L::col(rank<L>(), 0) == 0)
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (i < before.columns)
        result.set(0, i, from.elements[X::cols + i]);
  return result;
}

} // namespace tk
