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

/// A tile of the grid: its number, or -1 if there is none left, and its places on up to three axes.
struct alignas(16) counted_tile {
  int number;
  int at[3];
};

/// Takes one of `tiles` tiles, finds it by `tile_of(number)` and arrives on the barrier, by one thread; the first
/// gridDim.x, of which there are no more than tiles, belong to the blocks that begin with them. All blocks together ask
/// as often as there are tiles: each gets one answer in vain. So the counter, which goes from tiles - 1 to 0, ends as
/// it began. PTX ISA, "atom".
template <class Find>
__device__ __forceinline__ void claim_counted(counted_tile &to, barrier &full, u32 counter, int tiles,
                                              const Find &tile_of) {
  u32 taken;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(taken)
               : "l"(&tile_counters[counter]), "r"(u32(tiles) - 1)
               : "memory");
  const int number = int(gridDim.x + taken);
  const counted_tile tile = number < tiles ? tile_of(number) : counted_tile{-1, {0, 0, 0}};
  asm volatile("st.shared.v4.s32 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(&to)), "r"(tile.number), "r"(tile.at[0]),
               "r"(tile.at[1]), "r"(tile.at[2])
               : "memory");
  full.arrive();
}

/// To be read once the barrier's phase is complete. Before the next claim overwrites it, readers synchronise with the
/// claiming thread.
__device__ __forceinline__ counted_tile next_counted(const counted_tile &from) {
  counted_tile tile;
  asm volatile("ld.shared.v4.s32 {%0, %1, %2, %3}, [%4];"
               : "=r"(tile.number), "=r"(tile.at[0]), "=r"(tile.at[1]), "=r"(tile.at[2])
               : "r"(shared_address(&from))
               : "memory");
  return tile;
}

} // namespace tk
