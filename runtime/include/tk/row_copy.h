// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of one row from global to shared memory while its threads go on: as tiles are (tk/cp_async.h).
#pragma once

#include "tk/cp_async.h"
#include "tk/led_rows.h"
#include "tk/tiles.h"

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

/// The same of rows that begin anywhere: chunks are those of memory, where the threads have them that hold their
/// columns in registers, and one more is what the tile's end has of the chunk that holds both its ends. What lies
/// before the row in that one comes along, but for what lies before `tensor`, where its memory begins.
template <int Threads, class T, int Count>
__device__ __forceinline__ void copy_led_row_async(shared_vector<T, Count> &to, lead before, const T *tensor,
                                                   const view<const T, 16> &from, int thread) {
  constexpr int count = 16 / int(sizeof(T)), cols = Count - count;
  static_assert(cols % (Threads * count) == 0, "threads with as many 16-byte chunks each");
  const int first = thread * count - before.columns, end = min(from.col_end, cols);
  const auto copy = [&](int place, int c) {
    copy_async_16_of(to.address() + u32(place * int(sizeof(T))), from.at(0, c),
                     min(left_from(c, end), count) * int(sizeof(T)));
  };
  if (suits<count>(from.base, before)) {
    const bool both = first < 0 && first > -count, begins = both && from.at(0, first) < tensor;
    if (!begins)
      copy(thread * count, turned_chunk<cols, count>(first));
#pragma unroll 8
    for (int c = Threads * count; c < cols; c += Threads * count)
      copy(thread * count + c, first + c);
    if (both)
      copy(cols, first + cols);
    if (begins)
      for (int i = 0; i < count; ++i)
        to.elements[thread * count + i] = from.has_col(first + i) ? *from.at(0, first + i) : T{};
  } else {
    const int chunk = before.columns / count * count; // with both ends
#pragma unroll 8
    for (int place = thread; place < Count; place += Threads) {
      const int c = (place >= cols ? place + chunk : place < chunk ? place + cols : place) - before.columns;
      to.elements[place] = c < cols && from.has_col(c) ? *from.at(0, c) : T{};
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
  const int first = L::col(rank<L>(), 0) - before.columns;
  if (first < 0 && first > -count)
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (first + i < 0)
        result.set(0, i, from.elements[X::cols + i]);
  return result;
}

} // namespace tk
