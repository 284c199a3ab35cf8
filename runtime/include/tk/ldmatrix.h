// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of mma.sync from swizzled shared memory: four 8×8 matrices of 16-bit elements an instruction, or the same
// bytes of other types. Eight rows of 16 bytes lie in distinct banks in every swizzle, so no load has a conflict.
//
// An instruction contracts 32 bytes. *Along the rows* as stored (K-major) one block of an operand is 16 (A) or 16 (B:
// two instructions' 8) rows of 32 bytes; *down the columns* (16-bit elements only) it is 16 rows of 32 bytes,
// transposed on the way. PTX ISA, "ldmatrix"; the lanes that supply each row are tested against public tables.
#pragma once

#include "tk/layout.h"
#include "tk/padded.h"
#include "tk/shared.h"

namespace tk {

/// Four matrices; lane l supplies the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void load_matrices(u32 address, u32 *words) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(u32 address, u32 *words) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}
/// The same of rows of 16 elements of six bits, to a byte each.
__device__ __forceinline__ void load_padded_matrices(u32 address, u32 *words) {
  asm volatile("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

/// The blocks of an operand slice, for one lane, from number `first` on (below the number of warps, a power of two, by
/// which the blocks of one warp follow each other).
template <class Slice, bool IsLeft> struct operand_blocks {
  using Tile = typename Slice::tile_type;
  /// Stored with the contracted index along the rows.
  static constexpr bool k_major = IsLeft != Slice::transposed;
  /// A's registers go down the rows first, then along k; B's along k first.
  using place = matrix_lane<k_major == IsLeft>;
  static constexpr int panel_blocks = Tile::row_bytes / 32;
  static_assert(Tile::swizzle != 0, "operands are swizzled");
  static_assert(k_major || sizeof(typename Slice::element) == 2, "only 16-bit elements are transposed");

  u32 lane_address;

  __host__ __device__ static constexpr int block_offset(int down, int along) {
    return along / panel_blocks * Tile::panel_bytes + along % panel_blocks * 32 + down * 16 * Tile::row_bytes;
  }

  __device__ __forceinline__ operand_blocks(const Slice &slice, int lane, int first = 0) {
    const int in_block = place::row(lane) * Tile::row_bytes + place::chunk(lane) * 16;
    const int linear = in_block + (k_major ? block_offset(first, 0) : block_offset(0, first));
    lane_address = u32(Tile::permuted(int(slice.address) + linear));
  }

  /// Block number `mn` of 16 rows (or, transposed, columns) and number `k` of 32 bytes along the contraction.
  __device__ __forceinline__ void load(int mn, int k, u32 *words) const {
    const int down = k_major ? mn : k, along = k_major ? k : mn;
    // Neither a step of 16 rows nor one between panels changes the permutation; within a panel it commutes with XOR.
    const u32 address = (lane_address ^ u32(along % panel_blocks * 32)) +
                        u32(along / panel_blocks * Tile::panel_bytes + down * 16 * Tile::row_bytes);
    if constexpr (is_padded<typename Slice::element>)
      load_padded_matrices(address, words);
    else if constexpr (k_major)
      load_matrices(address, words);
    else
      load_matrices_transposed(address, words);
  }
};

} // namespace tk
