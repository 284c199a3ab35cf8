// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy engine: boxes of tensors to and from shared tiles, and plain runs of bytes.
//
// Issued by one thread. Loads complete bytes on a barrier; stores form bulk groups of the issuing thread. Coordinates
// are element indices, innermost dim first; a box that leaves the tensor reads zeros there and writes nothing. A tile
// of several panels is one copy a panel, `panel_cols` further along the innermost dim. PTX ISA, "cp.async.bulk.tensor".
#pragma once

#include "tk/barrier.h"
#include "tk/config.h"
#include "tk/sync.h"
#include "tk/text.h"

namespace tk {

/// Coordinates padded to five dims; `ends<i>` puts the ones from i on into a comment.
template <int Dims> struct coordinates {
  int c[5];
  template <int I> using ends = text::comment_opens<Dims == I>;
  using last = text::comment_closes<(Dims < 5)>;
};
template <class... C> coordinates(C...) -> coordinates<int(sizeof...(C))>;

/// How a copy names this block's shared memory: that of the cluster, which every toolkit takes, or, where ptxas makes a
/// stack frame for that (sm_120), the block's own (PTX ISA 8.6).
template <bool IsOwn> struct copy_target {
  static constexpr char space[] = "cluster";
};
template <> struct copy_target<true> {
  static constexpr char space[] = "cta";
};

template <int Dims>
__device__ __forceinline__ void load_box(u32 destination, const tensor_map &map, u32 completes, coordinates<Dims> at) {
  using list = coordinates<Dims>;
  asm volatile("cp.async.bulk.tensor.%8d.shared::%14.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3%9, %4%10, %5%11, %6%12, %7%13}], [%2];" ::"r"(destination),
               "l"(&map), "r"(completes), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]),
               "C"(text::digit<Dims>::text), "C"(list::template ends<1>::text), "C"(list::template ends<2>::text),
               "C"(list::template ends<3>::text), "C"(list::template ends<4>::text), "C"(list::last::text),
               "C"(copy_target<(compute_capability >= 120)>::space)
               : "memory");
}

/// The same to the blocks of the cluster in `mask`, at the same addresses; each block's barrier counts the bytes.
template <int Dims>
__device__ __forceinline__ void load_box_multicast(u32 destination, const tensor_map &map, u32 completes, u16 mask,
                                                   coordinates<Dims> at) {
  using list = coordinates<Dims>;
  asm volatile("cp.async.bulk.tensor.%9d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%4%10, %5%11, %6%12, %7%13, %8%14}], [%2], %3;" ::"r"(destination),
               "l"(&map), "r"(completes), "h"(mask), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]),
               "r"(at.c[4]), "C"(text::digit<Dims>::text), "C"(list::template ends<1>::text),
               "C"(list::template ends<2>::text), "C"(list::template ends<3>::text), "C"(list::template ends<4>::text),
               "C"(list::last::text)
               : "memory");
}

/// The same into this block of a pair; the bytes count at the barrier at `completes`, of the block of even rank.
template <int Dims>
__device__ __forceinline__ void load_box_pair(u32 destination, const tensor_map &map, u32 completes,
                                              coordinates<Dims> at) {
  using list = coordinates<Dims>;
  asm volatile("cp.async.bulk.tensor.%8d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3%9, %4%10, %5%11, %6%12, %7%13}], [%2];" ::"r"(destination),
               "l"(&map), "r"(completes), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]),
               "C"(text::digit<Dims>::text), "C"(list::template ends<1>::text), "C"(list::template ends<2>::text),
               "C"(list::template ends<3>::text), "C"(list::template ends<4>::text), "C"(list::last::text)
               : "memory");
}

struct store_verb {
  static constexpr char verb[] = "";
  static constexpr char operation[] = "";
};
struct add_verb {
  static constexpr char verb[] = "reduce.";
  static constexpr char operation[] = ".add";
};

/// One box of shared memory to the tensor: stored, or added to what is there.
template <class Verb, int Dims>
__device__ __forceinline__ void store_box(const tensor_map &map, u32 source, coordinates<Dims> at) {
  using list = coordinates<Dims>;
  asm volatile("cp.%7async.bulk.tensor.%8d.global.shared::cta%9.tile.bulk_group "
               "[%0, {%2%10, %3%11, %4%12, %5%13, %6%14}], [%1];" ::"l"(&map),
               "r"(source), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]), "C"(Verb::verb),
               "C"(text::digit<Dims>::text), "C"(Verb::operation), "C"(list::template ends<1>::text),
               "C"(list::template ends<2>::text), "C"(list::template ends<3>::text), "C"(list::template ends<4>::text),
               "C"(list::last::text)
               : "memory");
}

/// How many copies a slice takes: one a panel.
template <class Tile, int Cols> __device__ constexpr int panels_of() {
  static_assert(Cols % Tile::panel_cols == 0 || Cols < Tile::panel_cols || Cols == Tile::cols, "whole panels");
  return (Cols + Tile::panel_cols - 1) / Tile::panel_cols;
}

/// A tile or a slice of one ← the box of the tensor at these coordinates; the map's box has its rows and one panel's
/// columns. Completes the bytes of all panels (`byte_count` of a whole tile) on `completes`.
template <class Tile, int Rows, int Cols, class... C>
__device__ __forceinline__ void tma_load(const shared_slice<Tile, Rows, Cols> &to, const tensor_map &map,
                                         const barrier &completes, int c0, C... c) {
#pragma unroll
  for (int p = 0; p < panels_of<Tile, Cols>(); ++p)
    load_box(to.address + p * Tile::panel_bytes, map, completes.address(),
             coordinates<1 + sizeof...(C)>{{c0 + p * Tile::panel_cols, c...}});
}
template <class T, int Rows, int Cols, int Swizzle, class... C>
__device__ __forceinline__ void tma_load(shared_tile<T, Rows, Cols, Swizzle> &to, const tensor_map &map,
                                         const barrier &completes, int c0, C... c) {
  tma_load(to.all(), map, completes, c0, c...);
}
template <class T, int Count, class... C>
__device__ __forceinline__ void tma_load(shared_vector<T, Count> &to, const tensor_map &map, const barrier &completes,
                                         int c0, C... c) {
  load_box(to.address(), map, completes.address(), coordinates<1 + sizeof...(C)>{{c0, c...}});
}

/// The same into every block of the cluster named in `mask`, at the same place, on the same barrier of each.
template <class Tile, int Rows, int Cols, class... C>
__device__ __forceinline__ void tma_load_multicast(const shared_slice<Tile, Rows, Cols> &to, const tensor_map &map,
                                                   const barrier &completes, u16 mask, int c0, C... c) {
#pragma unroll
  for (int p = 0; p < panels_of<Tile, Cols>(); ++p)
    load_box_multicast(to.address + p * Tile::panel_bytes, map, completes.address(), mask,
                       coordinates<1 + sizeof...(C)>{{c0 + p * Tile::panel_cols, c...}});
}
template <class T, int Rows, int Cols, int Swizzle, class... C>
__device__ __forceinline__ void tma_load_multicast(shared_tile<T, Rows, Cols, Swizzle> &to, const tensor_map &map,
                                                   const barrier &completes, u16 mask, int c0, C... c) {
  tma_load_multicast(to.all(), map, completes, mask, c0, c...);
}

/// A block of a pair loads into its own shared memory; the bytes count at the barrier at the same place in the block of
/// even rank, which waits for both blocks' bytes.
template <class Tile, int Rows, int Cols, class... C>
__device__ __forceinline__ void tma_load_pair(const shared_slice<Tile, Rows, Cols> &to, const tensor_map &map,
                                              const barrier &completes, int c0, C... c) {
  const u32 leader = completes.address_at(cluster_rank() & ~1u);
#pragma unroll
  for (int p = 0; p < panels_of<Tile, Cols>(); ++p)
    load_box_pair(to.address + p * Tile::panel_bytes, map, leader,
                  coordinates<1 + sizeof...(C)>{{c0 + p * Tile::panel_cols, c...}});
}
template <class T, int Rows, int Cols, int Swizzle, class... C>
__device__ __forceinline__ void tma_load_pair(shared_tile<T, Rows, Cols, Swizzle> &to, const tensor_map &map,
                                              const barrier &completes, int c0, C... c) {
  tma_load_pair(to.all(), map, completes, c0, c...);
}

template <class Verb, class Tile, int Rows, int Cols, class... C>
__device__ __forceinline__ void store_slice(const tensor_map &map, const shared_slice<Tile, Rows, Cols> &from, int c0,
                                            C... c) {
#pragma unroll
  for (int p = 0; p < panels_of<Tile, Cols>(); ++p)
    store_box<Verb>(map, from.address + p * Tile::panel_bytes,
                    coordinates<1 + sizeof...(C)>{{c0 + p * Tile::panel_cols, c...}});
}

/// The box at these coordinates ← a tile or a slice of one; the map's box has its rows and one panel's columns. The
/// writers of the tile have fenced (`fence_proxy_async`) and synchronised.
template <class Tile, int Rows, int Cols, class... C>
__device__ __forceinline__ void tma_store(const tensor_map &map, const shared_slice<Tile, Rows, Cols> &from, int c0,
                                          C... c) {
  store_slice<store_verb>(map, from, c0, c...);
}
template <class T, int Rows, int Cols, int Swizzle, class... C>
__device__ __forceinline__ void tma_store(const tensor_map &map, const shared_tile<T, Rows, Cols, Swizzle> &from,
                                          int c0, C... c) {
  store_slice<store_verb>(map, from.all(), c0, c...);
}

/// The box at these coordinates += a tile or a slice of one, atomically element by element.
template <class Tile, int Rows, int Cols, class... C>
__device__ __forceinline__ void tma_add(const tensor_map &map, const shared_slice<Tile, Rows, Cols> &from, int c0,
                                        C... c) {
  store_slice<add_verb>(map, from, c0, c...);
}
template <class T, int Rows, int Cols, int Swizzle, class... C>
__device__ __forceinline__ void tma_add(const tensor_map &map, const shared_tile<T, Rows, Cols, Swizzle> &from, int c0,
                                        C... c) {
  store_slice<add_verb>(map, from.all(), c0, c...);
}

/// `bytes` (a multiple of 16) of contiguous global memory to shared memory; both ends 16-byte aligned.
__device__ __forceinline__ void bulk_load(u32 destination, const void *source, int bytes, const barrier &completes) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(destination),
      "l"(source), "r"(bytes), "r"(completes.address())
      : "memory");
}
__device__ __forceinline__ void bulk_store(void *destination, u32 source, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination), "r"(source), "r"(bytes)
               : "memory");
}
/// f32 elements += those in shared memory.
__device__ __forceinline__ void bulk_add(float *destination, u32 source, int bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(destination),
               "r"(source), "r"(bytes)
               : "memory");
}

/// Closes the bulk group of the stores that this thread issued since the last commit.
__device__ __forceinline__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Until at most InFlight of this thread's groups still read shared memory.
template <int InFlight> __device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(InFlight) : "memory");
}
/// Until at most InFlight of this thread's groups are unfinished.
template <int InFlight> __device__ __forceinline__ void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(InFlight) : "memory");
}

/// Fetches the tensor map ahead of its first use.
__device__ __forceinline__ void prefetch(const tensor_map &map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

} // namespace tk
