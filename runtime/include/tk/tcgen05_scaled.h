// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block-scaled products of data-centre Blackwell: d (+)= (a · scales) · (b · scales), with scale factors in tensor
// memory, each for 32 or 16 elements along k. Otherwise as tcgen05.h says. PTX ISA, "Block Scaling for tcgen05.mma",
// "tcgen05.cp".
#pragma once

#include "tk/tcgen05.h"

namespace tk {

/// How operands are stored and scaled: elements of `bits`, `each` scale factors an instruction.
struct mxf8 { ///< float8 or elements of six bits, and scales of f8e8m0, one for 32
  static constexpr char kind[] = "mxf8f6f4.block_scale";
  static constexpr int bits = 8, each = 1;
  static constexpr bool powers_of_two = true;
};
struct mxf4 { ///< packed f4e2m1 and scales of f8e8m0, one for 32
  static constexpr char kind[] = "mxf4.block_scale.scale_vec::2X";
  static constexpr int bits = 4, each = 2;
  static constexpr bool powers_of_two = true;
};
struct nvf4 { ///< packed f4e2m1 and scales of f8e4m3, not negative, one for 16
  static constexpr char kind[] = "mxf4nvf4.block_scale.scale_vec::4X";
  static constexpr int bits = 4, each = 4;
  static constexpr bool powers_of_two = false;
};

/// Scale factors of `Rows` rows of a, or columns of b, `Count` along k: byte s % 4 of column s / 4 · Rows / 32 + row /
/// 32, lane row % 32, the same in all four quarters of the lanes.
template <int Rows, int Count> struct tensor_scales {
  static_assert(Rows % 128 == 0 && Count % 4 == 0, "scale factors come by 128 rows and four of each");
  static constexpr int rows = Rows, count = Count;
  static constexpr int width = Rows / 32 * (Count / 4);
  u32 address;
};

/// Where scale factor s of a row stands in the bytes that `tensor_copy` takes: 512 for each 128 rows and four factors,
/// those along k first.
template <class Scales> __host__ __device__ constexpr int scale_offset(int row, int s) {
  return (row / 128 * (Scales::count / 4) + s / 4) * 512 + row % 32 * 16 + row / 32 % 4 * 4 + s % 4;
}

/// Scale factors ← shared memory at `from`, a multiple of 16, in the order of `scale_offset`. By the thread that issues
/// the products, and before them; asynchronous. `Blocks` 2: in each block of a pair, out of its own memory.
template <int Blocks = 1, class Scales> __device__ __forceinline__ void tensor_copy(const Scales &to, u32 from) {
  constexpr u64 rows_of_16_bytes = 1ull << 46 | u64(128 / 16) << 32 | 1ull << 16;
#pragma unroll
  for (int i = 0; i < Scales::rows / 128; ++i)
#pragma unroll
    for (int j = 0; j < Scales::count / 4; ++j)
      asm volatile(
          "tcgen05.cp.cta_group::%2.32x128b.warpx4 [%0], %1;" ::"r"(to.address + u32(j * (Scales::rows / 32) + i * 4)),
          "l"(rows_of_16_bytes | ((from & 0x3ffff) + u32(i * (Scales::count / 4) + j) * 512) >> 4), "n"(Blocks)
          : "memory");
}

/// The instruction descriptor but for the byte that scale factors begin at. m: rows of all blocks together.
template <class Format, class TA, class TB> __host__ __device__ constexpr u32 scaled_instruction(int m, int n) {
  constexpr u32 a = Format::bits == 4 ? 1 : tcgen05_text::operand<TA>::format;
  constexpr u32 b = Format::bits == 4 ? 1 : tcgen05_text::operand<TB>::format;
  return a << 7 | b << 10 | u32(n / 8) << 17 | u32(Format::powers_of_two) << 23 | u32(m / 16) << 24;
}

template <class Format, int Blocks, int N, class TileA, int KA, class TileB, int KB, int Cols, class ScalesA,
          class ScalesB>
__device__ __forceinline__ void
tensor_mma_scaled_steps(const tensor_tile<float, 128, N> &d, const shared_slice<TileA, 128, KA> &a,
                        const shared_slice<TileB, KB, Cols, true> &b, const ScalesA &scales_a, const ScalesB &scales_b,
                        bool accumulate) {
  static_assert(KA == KB && KA % 32 == 0 && sizeof(typename TileA::element) == 1 &&
                    sizeof(typename TileB::element) == 1,
                "k is a multiple of 32 bytes");
  static_assert(Cols * Blocks == N && N % (8 * Blocks) == 0 && N <= 256, "no instruction of this width");
  static_assert(ScalesA::rows >= 128 && ScalesB::rows >= N && ScalesA::count * 32 >= KA * Format::each);
  constexpr u32 instruction =
      scaled_instruction<Format, typename TileA::element, typename TileB::element>(128 * Blocks, N);
  const u64 descriptor_a = tensor_descriptor<TileA>(a.address, major::k);
  const u64 descriptor_b = tensor_descriptor<TileB>(b.address, major::k);
#pragma unroll
  for (int step = 0; step < KA / 32; ++step) {
    const u32 s = step * Format::each, byte = s % 4; // named in the descriptor and again in the addresses
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %6, 0;\n"
                 "tcgen05.mma.cta_group::%7.kind::%8 [%0], %1, %2, %3, [%4], [%5], accumulate;\n}\n" ::"r"(d.address),
                 "l"(descriptor_at(descriptor_a, descriptor_step<TileA>(major::k, 0, step * 32))),
                 "l"(descriptor_at(descriptor_b, descriptor_step<TileB>(major::k, 0, step * 32))),
                 "r"(instruction | byte << 29 | byte << 4),
                 "r"((scales_a.address + s / 4 * (ScalesA::rows / 32)) | byte << 30),
                 "r"((scales_b.address + s / 4 * (ScalesB::rows / 32)) | byte << 30), "r"(int(accumulate || step > 0)),
                 "n"(Blocks), "C"(Format::kind)
                 : "memory");
  }
}

/// d[128, N] (+)= a[128, K] · b[K, N] by one thread, asynchronously; both in shared memory, k contiguous (b a
/// transposed slice). Tiles of packed operands have elements of a byte, which are two; K and the scales count real
/// ones.
template <class Format, int N, class A, class B, class ScalesA, class ScalesB>
__device__ __forceinline__ void tensor_mma_scaled(const tensor_tile<float, 128, N> &d, const A &a, const B &b,
                                                  const ScalesA &scales_a, const ScalesB &scales_b,
                                                  bool accumulate = true) {
  tensor_mma_scaled_steps<Format, 1>(d, a, b, scales_a, scales_b, accumulate);
}

/// The same by a pair of blocks for d[256, N], issued by the block of even rank for both. Each block has its 128 rows
/// of d and a with their scales, its half of b's columns, and the scales of all of them, at the same addresses.
template <class Format, int N, class A, class B, class ScalesA, class ScalesB>
__device__ __forceinline__ void pair_mma_scaled(const tensor_tile<float, 128, N> &d, const A &a, const B &b,
                                                const ScalesA &scales_a, const ScalesB &scales_b,
                                                bool accumulate = true) {
  tensor_mma_scaled_steps<Format, 2>(d, a, b, scales_a, scales_b, accumulate);
}

} // namespace tk
