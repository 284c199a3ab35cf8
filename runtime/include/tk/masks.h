// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks that let each row see the columns up to one of its own, as causal attention's do, where a thread's columns of a
// row are pairs. What it sees of them is a run of its column slots: a number a row, and a bit a slot, which where it is
// used goes to predicates several at a time (R2P), while a comparison would be an instruction an element.
#pragma once

#include "tk/fragment.h"

namespace tk {

/// Pairs of columns, eight columns apart, in neighbouring threads. Accumulators of warpgroups alone: elsewhere nobody
/// has measured it, ptxas spills in kernels that are short of registers (beside the four rows of tensor memory's
/// layout, and on consumer Blackwell), and AMD's GPUs have no such instruction.
template <class L>
concept has_pairs_of_columns = same<L, mma_layout>;

/// For each row of a tile, the columns up to one. Serves where a fragment<bool> does.
template <int Rows, int Cols, class Layout> struct prefix_mask {
  using element = bool;
  using layout = Layout;
  static constexpr int row_slots = Layout::template row_slots<Rows>;
  static constexpr int words = (Layout::template col_slots<Cols> + 31) / 32;
  u32 hidden[row_slots * words]; ///< a bit for each column slot

  __device__ __forceinline__ bool at(int a, int b) const { return !(hidden[a * words + b / 32] & 1u << b % 32); }
};
template <int Rows, int Cols, class Layout>
struct shape_of<prefix_mask<Rows, Cols, Layout>> : fragment<bool, Rows, Cols, Layout> {};

/// How many column slots of a thread, whose first column is `own`, lie at or before column `last`.
__device__ __forceinline__ int slots_until(int last, int own) {
  const int until = (last < -1 ? -1 : last) - own;
  const int rest = until % 8 + 1;
  return until < 0 ? 0 : until / 8 * 2 + (rest < 2 ? rest : 2);
}

/// A word without its lowest `count` bits.
__device__ __forceinline__ u32 without_low_bits(int count) { return count >= 32 ? 0 : count <= 0 ? ~0u : ~0u << count; }

/// Which columns come, in each row, no later than its `last`.
template <int Cols, class L, int Rows, class M>
  requires has_pairs_of_columns<L> && has_pairs_of_columns<M>
__device__ __forceinline__ auto operator<=(const column_numbers<Cols, L> &, const column<int, Rows, M> &last) {
  using mask = prefix_mask<Rows, Cols, M>;
  mask result;
  const int own = M::col(int(threadIdx.x) % 4, 0);
#pragma unroll
  for (int a = 0; a < mask::row_slots; ++a) {
    const int count = slots_until(last.at(a, 0), own);
#pragma unroll
    for (int word = 0; word < mask::words; ++word)
      result.hidden[a * mask::words + word] = without_low_bits(count - 32 * word);
  }
  return result;
}

} // namespace tk
