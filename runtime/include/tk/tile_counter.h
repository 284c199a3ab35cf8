// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles by a counter in global memory: a block that has none left takes the next that nobody has. For kernels whose
// tiles differ in length, on GPUs without cluster launch control.
#pragma once

#include "tk/barrier.h"

namespace tk {

/// A launch has one of these for itself (tk::host::tile_counter_of). It is 0 when the launch begins, and again when its
/// last block has asked in vain.
constexpr int tile_counter_count = 1 << 16;
static __device__ u32 tile_counters[tile_counter_count];

/// A tile's number in shared memory, or -1: there is none left.
struct alignas(16) counted_tile {
  int number;
};

/// Takes one of `tiles` tiles and arrives on the barrier, by one thread; the first gridDim.x, of which there are no
/// more than tiles, belong to the blocks that begin with them. All blocks together ask as often as there are tiles:
/// each gets one answer in vain. So the counter, which goes from tiles - 1 to 0, ends as it began. PTX ISA, "atom".
__device__ __forceinline__ void claim_counted(counted_tile &to, barrier &full, u32 counter, int tiles) {
  u32 taken;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(taken)
               : "l"(&tile_counters[counter]), "r"(u32(tiles) - 1)
               : "memory");
  const int next = int(gridDim.x + taken);
  asm volatile("st.shared.s32 [%0], %1;" ::"r"(shared_address(&to)), "r"(next < tiles ? next : -1) : "memory");
  full.arrive();
}

/// To be read once the barrier's phase is complete. Before the next claim overwrites it, readers synchronise with the
/// claiming thread.
__device__ __forceinline__ int next_counted(const counted_tile &from) {
  int number;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(number) : "r"(shared_address(&from)) : "memory");
  return number;
}

} // namespace tk
