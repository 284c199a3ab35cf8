// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of one row from global to shared memory while its threads go on: as tiles are (tk/cp_async.h).
#pragma once

#include "tk/cp_async.h"

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

} // namespace tk
