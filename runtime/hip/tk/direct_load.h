// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads from global memory straight to shared memory, of which each thread counts those under way. A wave's load brings
// 16 bytes a lane, to one place and the lanes' numbers from there on; so a tile's swizzle is applied to where the lanes
// read. "AMD Instinct CDNA4 Instruction Set Architecture", "Memory Buffer Load to LDS", "S_WAITCNT".
#pragma once

#include "tk/in_place.h"
#include "tk/register_copy.h"
#include "tk/warp.h"

namespace tk {

/// tile ← the view, whose rows come in whole 16 bytes, by Threads threads, with byte_count / (16 · Threads) loads of
/// each: zeros where there is nothing.
template <int Threads, class Tile, class T>
__device__ __forceinline__ void load_direct(Tile &to, const view<const T, 16> &from, int thread) {
  constexpr int each = Threads * 16, wave_bytes = warp_size * 16;
  static_assert(Tile::byte_count % each == 0, "every thread issues as many loads as the others");
  const buffer_view<T> buffer(from);
  const u32 base = to.address() + u32(uniform(thread / warp_size) * wave_bytes);
#pragma unroll
  for (int done = 0; done < Tile::byte_count; done += each) {
    const int place = Tile::permuted(done + thread * 16), in_panel = place % Tile::panel_bytes; // its own inverse
    const int r = in_panel / Tile::row_bytes;
    const int c = place / Tile::panel_bytes * Tile::panel_cols + in_panel % Tile::row_bytes / int(sizeof(T));
    if constexpr (gfx >= 950)
      __builtin_amdgcn_raw_ptr_buffer_load_lds(buffer.descriptor, (in_shared<void> *)(u64(base + u32(done))), 16,
                                               int(buffer.offset(r, c)), 0, 0, 0);
  }
}

/// The same where `wide` holds, which is the same for all threads; else the copy is done by elements, at once.
template <int Threads, class Tile, class T>
__device__ __forceinline__ void load_direct(Tile &to, bool wide, const view<const T, 16> &from, int thread) {
  if (tested_in_place(wide))
    return load_direct<Threads>(to, from, thread);
  share<T, Tile::rows, Tile::cols, Threads> elements;
  elements.fetch(false, from, thread);
  elements.place(to, thread);
}

/// Until at most Count of this thread's loads are under way, if `counted`, else none; it says whether all tensors came
/// by loads. What other threads loaded is there after a barrier, too.
template <int Count> __device__ __forceinline__ void wait_loads(bool counted = true) {
  static_assert(Count < 64, "the counter has six bits");
  constexpr int others = 0xf70; // no wait for what else is counted
  if (tested_in_place(counted))
    __builtin_amdgcn_s_waitcnt(others | (Count & 15) | Count / 16 << 14);
  else
    __builtin_amdgcn_s_waitcnt(others);
}

} // namespace tk
