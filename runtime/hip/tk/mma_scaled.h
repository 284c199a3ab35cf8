// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by waves with block scales: the f8f6f4 instructions of CDNA 4 with scales, operands and scales from shared
// memory. Sources: "AMD Instinct CDNA4 Instruction Set Architecture", "Matrix Arithmetic Instructions"; Clang,
// BuiltinsAMDGPU.
//
// A scale is for 32 neighbours along k, so a lane feeds each instruction what the instruction's order asks for: of
// float8 16 neighbours of either half of its k, of what is narrower 32 neighbours.
#pragma once

#include "tk/mma.h"
#include "tk/packed.h"

namespace tk {

/// The number by which an instruction knows the type of an operand.
template <class T> constexpr int scaled_format() {
  static_assert(is_float8<T> || is_padded<T> || same<T, f4e2m1_pair>);
  return same<T, f8e4m3> ? 0 : same<T, f8e5m2> ? 1 : same<T, f6e2m3_padded> ? 2 : same<T, f6e3m2_padded> ? 3 : 4;
}

/// What a lane gives one instruction of an operand, in steps of which `each` blocks of 32 are one: chunks of 16 bytes,
/// of f4e2m1 one, else two. Those of elements of six bits lie as padded_share places them.
template <class Reads> struct scaled_reads {
  using T = typename Reads::T;
  static constexpr int count = same<T, f4e2m1_pair> ? 1 : 2;

  template <int Each> __device__ __forceinline__ static void load(const Reads &from, int block, int step, u32 *words) {
    constexpr int in_panel = is_padded<T> ? Reads::row_bytes / 32 / Each : 1; // steps
#pragma unroll
    for (int i = 0; i < count; ++i)
      from.load(block, (step - step % in_panel) * count + step % in_panel + i * in_panel,
                words + i * Reads::read_words);
  }
};

/// d += a · b with their scales, transposed: d[Tile, Tile] += left · right in mfma_layout. Each lane brings the scale
/// of one row or column for one block of 32.
template <class Left, class Right, int Tile>
__device__ __forceinline__ void mfma_scaled(float *d, const u32 *left, const u32 *right, u32 scale_left,
                                            u32 scale_right) {
  constexpr int count = Tile * Tile / 64, of_left = scaled_format<Left>(), of_right = scaled_format<Right>();
  using V = vector<int, 8>;
  vector<float, count> sum;
#pragma unroll
  for (int i = 0; i < count; ++i)
    sum[i] = d[i];
  if constexpr (Tile == 32)
    sum = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(operand<V>(right), operand<V>(left), sum, of_right, of_left,
                                                          0, int(scale_right), 0, int(scale_left));
  else
    sum = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(operand<V>(right), operand<V>(left), sum, of_right, of_left,
                                                           0, int(scale_right), 0, int(scale_left));
#pragma unroll
  for (int i = 0; i < count; ++i)
    d[i] = sum[i];
}

/// acc[M, N] += (a · scales)[M, K] · (b · scales)[K, N], all in shared memory, k contiguous; `accumulate` false: acc =
/// …. Otherwise as mma. K is a multiple of 64 elements (of tiles of 16: 128). Packed operands count pairs along k;
/// scales are shaped as their operands, a power of two for each 32 elements.
template <class Acc, class TileA, int M, int K, class B, class TileScalesA, class TileScalesB, int Count>
__device__ __forceinline__ void mma_scaled(Acc &acc, const shared_slice<TileA, M, K> &a, const B &b,
                                           const shared_slice<TileScalesA, M, Count> &scales_a,
                                           const shared_slice<TileScalesB, Count, B::cols, true> &scales_b,
                                           bool accumulate = true) {
  using L = typename Acc::layout;
  using Left = typename TileA::element;
  using Right = typename B::element;
  check_accumulator<Acc>();
  static_assert(M == Acc::rows && B::cols == Acc::cols && K == B::rows && B::transposed, "shapes of a product");
  static_assert(same<typename TileScalesA::element, f8e8m0> && same<typename TileScalesB::element, f8e8m0>);
  if (!accumulate)
    acc = zeros<Acc>();
  constexpr int tile = L::tile, waves = L::threads / 64, slabs = M / L::slab, blocks = Acc::cols / tile;
  constexpr int each = 64 / tile;                         // scales of a row that an instruction takes
  constexpr int chunks = same<Left, f4e2m1_pair> ? 1 : 2; // that hold a block
  constexpr int steps = Count / each;
  static_assert(Count % each == 0 && K == steps * chunks * each * 16, "scales of a product");
  const int wave = threadIdx.x / 64 % waves, outer = lane() % tile;
  using left_reads = operand_reads<shared_slice<TileA, M, K>, true, tile, 16>;
  using right_reads = operand_reads<B, false, tile, 16>;
  const left_reads left(a, wave);
  const right_reads right(b, 0);
  const auto scale = [&](u32 address, int block, int step) -> u32 {
    return *shared_pointer<const u8>(address + u32((block * tile + outer) * Count + step * each + lane() / tile));
  };
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    u32 left_words[slabs][8] = {}, left_scales[slabs];
#pragma unroll
    for (int slab = 0; slab < slabs; ++slab) {
      scaled_reads<left_reads>::template load<each>(left, slab * waves, step, left_words[slab]);
      left_scales[slab] = scale(scales_a.address, slab * waves + wave, step);
    }
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      u32 right_words[8] = {};
      scaled_reads<right_reads>::template load<each>(right, block, step, right_words);
      const u32 right_scale = scale(scales_b.address, block, step);
#pragma unroll
      for (int slab = 0; slab < slabs; ++slab)
        mfma_scaled<Left, Right, tile>(acc.data.values + (slab * blocks + block) * (tile * tile / 64), left_words[slab],
                                       right_words, left_scales[slab], right_scale);
    }
  }
}

} // namespace tk
