// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by waves with block scales: the f8f6f4 instructions of CDNA 4 with scales, operands and scales from shared
// memory. Sources: "AMD Instinct CDNA4 Instruction Set Architecture", "Matrix Arithmetic Instructions"; Clang,
// BuiltinsAMDGPU.
//
// A scale is for 32 neighbours along k, so a lane feeds each instruction what the instruction's order asks for: of
// float8 16 neighbours of either half of its k, of packed f4e2m1 32 neighbours.
#pragma once

#include "tk/mma.h"
#include "tk/packed.h"

namespace tk {

/// The number by which an instruction knows the type of an operand.
template <class T> constexpr int scaled_format() {
  static_assert(same<T, f8e4m3> || same<T, f8e5m2> || same<T, f4e2m1_pair>);
  return same<T, f8e4m3> ? 0 : same<T, f8e5m2> ? 1 : 4;
}

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
  constexpr int each = 64 / tile; // scales of a row that an instruction takes
  constexpr int reads = same<Left, f4e2m1_pair> ? 1 : 2;
  constexpr int steps = Count / each;
  static_assert(Count % each == 0 && K == steps * reads * each * 16, "scales of a product");
  const int wave = threadIdx.x / 64 % waves, outer = lane() % tile;
  const operand_reads<shared_slice<TileA, M, K>, true, tile, 16> left(a, wave);
  const operand_reads<B, false, tile, 16> right(b, 0);
  const auto scale = [&](u32 address, int block, int step) -> u32 {
    return *shared_pointer<const u8>(address + u32((block * tile + outer) * Count + step * each + lane() / tile));
  };
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    u32 left_words[slabs][8] = {}, left_scales[slabs];
#pragma unroll
    for (int slab = 0; slab < slabs; ++slab) {
#pragma unroll
      for (int i = 0; i < reads; ++i)
        left.load(slab * waves, step * reads + i, left_words[slab] + i * 4);
      left_scales[slab] = scale(scales_a.address, slab * waves + wave, step);
    }
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      u32 right_words[8] = {};
#pragma unroll
      for (int i = 0; i < reads; ++i)
        right.load(block, step * reads + i, right_words + i * 4);
      const u32 right_scale = scale(scales_b.address, block, step);
#pragma unroll
      for (int slab = 0; slab < slabs; ++slab)
        mfma_scaled<Left, Right, tile>(acc.data.values + (slab * blocks + block) * (tile * tile / 64), left_words[slab],
                                       right_words, left_scales[slab], right_scale);
    }
  }
}

} // namespace tk
