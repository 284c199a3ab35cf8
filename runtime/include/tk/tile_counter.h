// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles by a counter in global memory: a block that has none left takes the next that nobody has. For kernels whose
// tiles differ in length, on GPUs without cluster launch control.
#pragma once

#include "tk/barrier.h"
#include "tk/tile_order.h"

namespace tk {

/// Launches of one stream, which run one after the other, have one of these for themselves
/// (tk::host::tile_claims_of): the number of the launch that it counts for, and how many tiles that has taken.
constexpr int tile_counter_count = 4096;
static __device__ u64 tile_counters[tile_counter_count];

/// How the blocks of a launch take their tiles.
struct tile_claims {
  u32 counter = 0, launch = 0;
  tile_order order; ///< if there is one: by no counter; each block has tiles of its own, whoever is done first

  __host__ __device__ constexpr bool in_order() const { return order.cols > 0; }
};

/// A tile of the grid: its places on up to three axes, and its number, or -1 if there is none left. Of tiles in a fixed
/// order the number is blockIdx.x, and gridDim.x more in every turn.
struct alignas(16) counted_tile {
  int number;
  int at[3];
};

/// How many tiles the launch has taken before this one. Whatever else the counter held is of another launch, which is
/// over or was stopped midway: who finds it begins to count. PTX ISA, "atom".
__device__ __forceinline__ u32 tiles_taken(tile_claims claims) {
  u64 *const counter = &tile_counters[claims.counter];
  const auto take = [&] {
    u64 old;
    asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], 1;" : "=l"(old) : "l"(counter) : "memory");
    return old;
  };
  const u64 old = take();
  if (old >> 32 == claims.launch)
    return u32(old);
  const u64 first = u64(claims.launch) << 32 | 1;
  for (u64 stale = old + 1;;) {
    u64 found;
    asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(found)
                 : "l"(counter), "l"(stale), "l"(first)
                 : "memory");
    if (found == stale)
      return 0;
    if (found >> 32 == claims.launch)
      return u32(take());
    stale = found;
  }
}

/// The tile with which a block begins.
template <class Find> __device__ __forceinline__ counted_tile first_counted(tile_claims claims, const Find &tile_of) {
  counted_tile tile = tile_of(claims.in_order() ? claims.order.tile(blockIdx.x, gridDim.x, 0) : int(blockIdx.x));
  tile.number = blockIdx.x;
  return tile;
}

/// Takes one of `tiles` tiles after that of this number, finds it by `tile_of(number)` and arrives on the barrier, by
/// one thread; the first gridDim.x, of which there are no more than tiles, belong to the blocks that begin with them.
template <class Find>
__device__ __forceinline__ void claim_counted(counted_tile &to, barrier &full, tile_claims claims, int after, int tiles,
                                              const Find &tile_of) {
  const u32 number = claims.in_order() ? u32(claims.order.tile(blockIdx.x, gridDim.x, after / int(gridDim.x) + 1))
                                       : gridDim.x + tiles_taken(claims);
  counted_tile tile = number < u32(tiles) ? tile_of(int(number)) : counted_tile{-1, {0, 0, 0}};
  if (claims.in_order() && tile.number >= 0)
    tile.number = after + int(gridDim.x);
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
