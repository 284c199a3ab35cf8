// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register tiles from the shared memory of another block of the cluster. Its threads have stored them before a
// cluster_sync(), and stay until another one after the reads. PTX ISA, "mapa", "ld".
#pragma once

#include "tk/shared_copy.h"

namespace tk {

/// One access of Words registers to the shared memory of a block of the cluster; the address is mapa's.
template <int Words> __device__ __forceinline__ void load_cluster_words(u32 address, u32 *words) {
  static_assert(Words == 1 || Words == 2 || Words == 4);
  if constexpr (Words == 4)
    asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
  else if constexpr (Words == 2)
    asm volatile("ld.shared::cluster.v2.b32 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(words[0]) : "r"(address) : "memory");
}

/// X ← the place of `own` in block `block` of the cluster, as load_shared(own) would be there. Elements of 4 bytes.
template <tile X, class Tile, int Rows, int Cols>
__device__ __forceinline__ X load_cluster_shared(const shared_slice<Tile, Rows, Cols> &own, u32 block) {
  static_assert(same<typename X::element, typename Tile::element> && sizeof(typename X::element) == 4);
  static_assert(Rows >= X::rows && Cols >= X::cols, "the tile does not fit");
  constexpr int count = shared_chunk<X>();
  const int thread = rank<typename X::layout>();
  u32 there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own.address), "r"(block));
  X result;
#pragma unroll
  for (int a = 0; a < X::row_slots; ++a)
#pragma unroll
    for (int b = 0; b < X::col_slots; b += count) {
      u32 words[count];
      load_cluster_words<count>(there + Tile::offset(X::layout::row(thread, a), X::layout::col(thread, b)), words);
      set_chunk_words<count>(result, a, b, words);
    }
  return result;
}

/// The same for whole tiles.
template <tile X, class T, int Rows, int Cols, int Swizzle, int Grain>
__device__ __forceinline__ X load_cluster_shared(const shared_tile<T, Rows, Cols, Swizzle, Grain> &own, u32 block) {
  return load_cluster_shared<X>(own.all(), block);
}

} // namespace tk
