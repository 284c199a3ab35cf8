// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products by waves: MFMA on fragments in mfma_layout, operands from shared memory or, the left one of 16-bit
// types, from registers.
//
// A product does not ask in which order k is summed. So a lane reads 16 neighbours in memory of each operand, and gives
// them to as many instructions as they feed; where the left operand is an accumulator, the right one is read in its
// order.
#pragma once

#include "tk/fragment.h"
#include "tk/mfma.h"
#include "tk/mfma_layout.h"
#include "tk/padded.h"
#include "tk/shared.h"
#include "tk/transposing_read.h"
#include "tk/warp.h"

namespace tk {

/// An operand in shared memory, of which a lane takes `Bytes` bytes a step of k for one row (left) or column (right).
template <class Slice, bool IsLeft, int Tile, int Bytes> struct operand_reads {
  using T = typename Slice::element;
  using tile_type = typename Slice::tile_type;
  /// Stored with the contracted index along the rows.
  static constexpr bool k_major = IsLeft != Slice::transposed;
  static constexpr int step_bytes = 64 / Tile * Bytes, elements = Bytes / int(sizeof(T)),
                       step_rows = 64 / Tile * elements;
  static constexpr int row_bytes = tile_type::row_bytes;
  static constexpr bool transposes = !k_major && transposing_reads;
  /// What one transposing read brings, and how many of them a step takes.
  static constexpr int read_rows = 8 / int(sizeof(T)), reads = elements / read_rows;
  /// What lies together in a row, and is read at once.
  static constexpr int together = Bytes < tile_type::grain ? Bytes : tile_type::grain;
  /// Words of that: elements of six bits have padding behind them.
  static constexpr int read_words = is_padded<T> ? together / padded_elements * padded_bytes / 4 : together / 4;
  static constexpr int instructions_of_step = k_major ? Bytes / together : transposes ? reads : elements;
  static constexpr int addresses = k_major ? 1 : transposes ? reads : elements;
  static_assert(tile_type::swizzle != 0, "operands are swizzled");
  static_assert(gfx == 0 || k_major || transposes || sizeof(T) == 2, "only 16-bit elements are read down the columns");
  static_assert(!transposes || elements % read_rows == 0, "whole transposing reads");
  static_assert(!k_major || row_bytes % step_bytes == 0, "a step lies in one panel");

  u32 lane_addresses[addresses];

  __device__ __forceinline__ explicit operand_reads(const Slice &slice, int first_block) {
    const int outer = mfma_operand<Tile, elements>::outer(lane()), k = mfma_operand<Tile, elements>::k(lane(), 0);
    if constexpr (k_major)
      lane_addresses[0] =
          u32(tile_type::permuted(int(slice.address) + (first_block * Tile + outer) * row_bytes + k * int(sizeof(T))));
    else
#pragma unroll
      for (int i = 0; i < addresses; ++i)
        lane_addresses[i] = u32(tile_type::permuted(int(slice.address) + place(first_block, outer, k, i)));
  }

  /// Bytes from the slice's start to what address `i` is for.
  __device__ __forceinline__ static int place(int first_block, int outer, int k, int i) {
    if constexpr (transposes) {
      using read = transposing_read<int(sizeof(T))>;
      const int row = k + i * read_rows + read::row(lane());
      return tile_type::linear_offset(row, first_block * Tile + outer / 16 * 16) + read::byte(lane());
    } else {
      return tile_type::linear_offset(k + i, first_block * Tile) + outer * int(sizeof(T));
    }
  }

  /// Bytes from one place to another in the row of a panel are XORed, as the permutation is; panels and rows are added.
  /// `rows`: of other bits than the number of the lane's row, so that they change the permutation all alike.
  __device__ __forceinline__ static u32 moved(u32 address, int along, int rows) {
    const int down = rows * row_bytes;
    return (address ^ u32(along % row_bytes ^ down ^ tile_type::permuted(down))) +
           u32(along / row_bytes * tile_type::panel_bytes + down);
  }

  /// Of the `block`-th Tile rows or columns, what the lane contracts in step `step`.
  __device__ __forceinline__ void load(int block, int step, u32 *words) const {
    constexpr int block_bytes = Tile * int(sizeof(T));
    if constexpr (k_major) {
#pragma unroll
      for (int i = 0; i < Bytes; i += together)
        load_shared_words<read_words>(moved(lane_addresses[0], step * step_bytes ^ i, block * Tile),
                                      words + i / together * read_words);
    } else if constexpr (transposes) {
#pragma unroll
      for (int i = 0; i < reads; ++i)
        load_transposed<int(sizeof(T))>(moved(lane_addresses[i], block * block_bytes, step * step_rows), words + 2 * i);
    } else {
#pragma unroll
      for (int i = 0; i < elements; i += 2) {
        const auto element = [&](int e) {
          return u32(*shared_pointer<const u16>(moved(lane_addresses[e], block * block_bytes, step * step_rows)));
        };
        words[i / 2] = element(i) | element(i + 1) << 16;
      }
    }
  }
};

/// Bytes that a lane reads at once: 16, or fewer where the rows of k are short, or where 16 lanes would read the same
/// chunk of 16 rows further down.
template <int Tile, class Slice, bool IsLeft, int KBytes> constexpr int read_bytes() {
  constexpr bool k_major = IsLeft != Slice::transposed;
  int bytes = !k_major && sizeof(typename Slice::element) == 1 && Tile == 16 ? 8 : 16;
  while (KBytes % (64 / Tile * bytes) != 0 || (k_major && Slice::tile_type::row_bytes % (64 / Tile * bytes) != 0))
    bytes /= 2;
  return bytes;
}

/// acc += left · right: `load_left(slab, step, words)` and `load_right(block, step, words)` give Bytes bytes a step.
/// In a loop over `AtATime` times 32 bytes of k, or, where that is 0, all unrolled.
template <class Left, class Right, int KBytes, int Bytes, int AtATime, class Acc, class LoadLeft, class LoadRight>
__device__ __forceinline__ void mma_steps(Acc &acc, LoadLeft load_left, LoadRight load_right) {
  using L = typename Acc::layout;
  constexpr int tile = L::tile, slabs = Acc::rows / L::slab, blocks = Acc::cols / tile;
  constexpr int steps = KBytes / (64 / tile * Bytes);
  static_assert(KBytes % (64 / tile * Bytes) == 0, "whole steps");
  // An instruction may take several steps, or a step several instructions.
  constexpr int widest = mfma_bytes<Left>();
  constexpr int each = widest > Bytes && steps % (widest / Bytes) != 0 ? Bytes : widest;
  constexpr int together = each > Bytes ? each / Bytes : 1, words = together * Bytes / 4;
  constexpr int wanted = AtATime * 32 / (64 / tile * Bytes * together), all = steps / together;
  constexpr int unrolled = AtATime == 0 || wanted > all ? all : wanted > 1 ? wanted : 1;
#pragma unroll unrolled
  for (int step = 0; step < steps; step += together) {
    u32 left[slabs][words];
#pragma unroll
    for (int slab = 0; slab < slabs; ++slab)
#pragma unroll
      for (int i = 0; i < together; ++i)
        load_left(slab, step + i, left[slab] + i * Bytes / 4);
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      u32 right[words];
#pragma unroll
      for (int i = 0; i < together; ++i)
        load_right(block, step + i, right + i * Bytes / 4);
#pragma unroll
      for (int i = 0; i < words; i += each / 4)
#pragma unroll
        for (int slab = 0; slab < slabs; ++slab)
          mfma<Left, Right, tile, each>(acc.data.values + (slab * blocks + block) * (tile * tile / 64), left[slab] + i,
                                        right + i);
    }
  }
}

template <class Acc> __device__ constexpr void check_accumulator() {
  static_assert(same<typename Acc::element, float> || same<typename Acc::element, int> ||
                same<typename Acc::element, double>);
  static_assert(Acc::rows % Acc::layout::slab == 0 && Acc::cols % Acc::layout::tile == 0,
                "no instruction of this shape");
}

/// acc[M, N] += a[M, K] · b[K, N], both in shared memory (slices or transposed slices); `accumulate` false: acc = a ·
/// b. Shapes: M a multiple of the layout's slab, N of its tile, K of 32 bytes. Only 16-bit operands, and where reads
/// transpose 8-bit ones, may lie with another axis than k contiguous (a transposed, b not). The writers of a and b have
/// synchronised. `AtATime`: so many times 32 bytes of k in a loop, so that no more operands are loaded ahead than
/// registers are left; 0: all unrolled.
template <int AtATime = 0, class Acc, class TileA, int M, int K, bool Transposed, class B>
__device__ __forceinline__ void mma(Acc &acc, const shared_slice<TileA, M, K, Transposed> &a, const B &b,
                                    bool accumulate = true) {
  using A = shared_slice<TileA, M, K, Transposed>;
  using L = typename Acc::layout;
  using T = typename A::element;
  check_accumulator<Acc>();
  static_assert(M == Acc::rows && B::cols == Acc::cols && K == B::rows, "shapes of a product");
  if (!accumulate)
    acc = zeros<Acc>();
  constexpr int k_bytes = K * int(sizeof(T));
  constexpr int a_bytes = read_bytes<L::tile, A, true, k_bytes>(), b_bytes = read_bytes<L::tile, B, false, k_bytes>();
  constexpr int bytes = a_bytes < b_bytes ? a_bytes : b_bytes;
  constexpr int waves = L::threads / 64;
  const operand_reads<A, true, L::tile, bytes> left(a, threadIdx.x / 64 % waves);
  const operand_reads<B, false, L::tile, bytes> right(b, 0);
  mma_steps<T, typename B::element, k_bytes, bytes, AtATime>(
      acc, [&](int slab, int step, u32 *words) { left.load(slab * waves, step, words); },
      [&](int block, int step, u32 *words) { right.load(block, step, words); });
}

/// The same with a in registers. Its type is a 16-bit one: the accumulator's layout is then the operand's.
template <class Acc, class T, int M, int K, class L, class B>
__device__ __forceinline__ void mma(Acc &acc, const fragment<T, M, K, L> &a, const B &b, bool accumulate = true) {
  check_accumulator<Acc>();
  static_assert(is_float16<T> && same<L, typename Acc::layout>, "only 16-bit operands go through registers");
  static_assert(M == Acc::rows && B::cols == Acc::cols && K == B::rows, "shapes of a product");
  if (!accumulate)
    acc = zeros<Acc>();
  constexpr int bytes = L::run * int(sizeof(T)); // as neighbours of a row lie in an accumulator
  const operand_reads<B, false, L::tile, bytes> right(b, 0);
  mma_steps<T, T, K *int(sizeof(T)), bytes, 0>(
      acc,
      [&](int slab, int step, u32 *words) {
#pragma unroll
        for (int i = 0; i < bytes / 4; ++i)
          words[i] = a.data.words[(slab * fragment<T, M, K, L>::col_slots + step * L::run) / 2 + i];
      },
      [&](int block, int step, u32 *words) { right.load(block, step, words); });
}

} // namespace tk
