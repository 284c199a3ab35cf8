// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by warps with block scales: mma.sync of consumer Blackwell, operands and scales from shared memory. PTX ISA,
// "mma", "Block Scaling for mma.sync".
//
// A lane brings four scales of a row in a register, and an instruction names the byte and the lane of each quad that it
// takes them from. So the scales of a slab of a, or of 32 columns of b, come in one load.
#pragma once

#include "tk/mma.h"
#include "tk/packed.h"

namespace tk {

namespace mma_text {
/// What an instruction calls the types of operands and scales.
template <class T> struct name_of;
template <> struct name_of<f8e4m3> {
  static constexpr char text[] = "e4m3";
};
template <> struct name_of<f8e5m2> {
  static constexpr char text[] = "e5m2";
};
template <> struct name_of<f6e2m3_padded> {
  static constexpr char text[] = "e2m3";
};
template <> struct name_of<f6e3m2_padded> {
  static constexpr char text[] = "e3m2";
};
template <> struct name_of<f4e2m1_pair> {
  static constexpr char text[] = "e2m1";
};
template <class T> struct scale_name {
  static constexpr char text[] = "ue8m0";
};
template <> struct scale_name<f8e4m3> {
  static constexpr char text[] = "ue4m3";
};
} // namespace mma_text

/// The instruction for these types, and how many scales of a row it takes. Float8 and elements of six bits mix.
template <class TA, class TB, class Scale> struct scaled_mma {
  static_assert(same<Scale, f8e8m0>, "elements of 8 and 6 bits are scaled by powers of two");
  static constexpr char text[] = "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X";
  static constexpr int each = 1;
};
template <> struct scaled_mma<f4e2m1_pair, f4e2m1_pair, f8e8m0> {
  static constexpr char text[] = "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X";
  static constexpr int each = 2;
};
template <> struct scaled_mma<f4e2m1_pair, f4e2m1_pair, f8e4m3> {
  static constexpr char text[] = "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X";
  static constexpr int each = 4;
};

/// A register of scales: from which byte and which lane of each quad (of a: which two) the instruction takes them.
struct scale_word {
  u32 word;
  int byte, lane;
};

/// d[16, 8] += (a · scales)[16, 32 bytes] · (b · scales)[32 bytes, 8].
template <class TA, class TB, class Scale>
__device__ __forceinline__ void mma_16x8_scaled(float *d, const u32 *a, const u32 *b, const scale_word &scales_a,
                                                const scale_word &scales_b) {
  asm("mma.sync.aligned.%16.f32.%17.%18.f32.%19 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, "
      "{%11, %12}, {%13}, {%14, %15};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(scales_a.word), "h"(u16(scales_a.byte)),
        "h"(u16(scales_a.lane)), "r"(scales_b.word), "h"(u16(scales_b.byte)), "h"(u16(scales_b.lane)),
        "C"(scaled_mma<TA, TB, Scale>::text), "C"(mma_text::name_of<TA>::text), "C"(mma_text::name_of<TB>::text),
        "C"(mma_text::scale_name<Scale>::text));
}

/// Scales of a warp's part of an operand, in registers: `Groups` times a row a lane, `Count` scales of each, read as
/// wide as rows allow, so that no banks conflict.
template <int Groups, int Count> struct scale_rows {
  static constexpr int bytes = Count % 16 == 0 ? 16 : Count % 8 == 0 ? 8 : Count % 4 == 0 ? 4 : Count % 2 == 0 ? 2 : 1;
  static constexpr int each = bytes < 4 ? bytes : 4; ///< in a register
  u32 words[Groups][Count / each];

  /// The lane's rows: `row_of(group)`, at `address`, one after another in shared memory. Of rows of two words lanes
  /// that `turn` read the second one first.
  template <class RowOf> __device__ __forceinline__ scale_rows(u32 address, bool turn, RowOf row_of) {
#pragma unroll
    for (int group = 0; group < Groups; ++group) {
      const u32 row = address + u32(row_of(group) * Count);
      if constexpr (Count == 8) {
        u32 read[2];
        load_shared_words<1>(row + (turn ? 4 : 0), read);
        load_shared_words<1>(row + (turn ? 0 : 4), read + 1);
        words[group][0] = turn ? read[1] : read[0];
        words[group][1] = turn ? read[0] : read[1];
      } else {
#pragma unroll
        for (int i = 0; i < Count / bytes; ++i) {
          u32 *to = words[group] + i * bytes / each;
          if constexpr (bytes >= 4)
            load_shared_words<bytes / 4>(row + u32(i * bytes), to);
          else if constexpr (bytes == 2)
            *to = *shared_pointer<const u16>(row + u32(i * bytes));
          else
            *to = *shared_pointer<const u8>(row + u32(i * bytes));
        }
      }
    }
  }

  /// The scales from number `s` along k on.
  __device__ __forceinline__ scale_word at(int group, int s, int lane) const {
    return {words[group][s / each], s % each, lane};
  }
};

/// acc[M, N] += (a · scales)[M, K] · (b · scales)[K, N], all in shared memory, k contiguous; `accumulate` false: acc =
/// …. Otherwise as mma. Packed operands count pairs along k; scales are shaped as their operands, a scale for each
/// block.
template <class Acc, class TileA, int M, int K, class B, class TileScalesA, class TileScalesB, int Count>
__device__ __forceinline__ void mma_scaled(Acc &acc, const shared_slice<TileA, M, K> &a, const B &b,
                                           const shared_slice<TileScalesA, M, Count> &scales_a,
                                           const shared_slice<TileScalesB, Count, B::cols, true> &scales_b,
                                           bool accumulate = true) {
  using L = typename Acc::layout;
  using TA = typename TileA::element;
  using TB = typename B::element;
  using Scale = typename TileScalesA::element;
  using instruction = scaled_mma<TA, TB, Scale>;
  check_accumulator<Acc>();
  static_assert(M == Acc::rows && B::cols == Acc::cols && K == B::rows, "shapes of a product");
  static_assert(B::transposed && K / 32 * instruction::each == Count, "scales of a product");
  if (!accumulate)
    acc = zeros<Acc>();
  constexpr int warps = L::threads / 32, slabs = M / L::slab, blocks = Acc::cols / 8;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % warps;
  // Of a quad's lanes two have the rows of a slab's halves, and the other two the same.
  const scale_rows<slabs, Count> of_a(scales_a.address, false,
                                      [&](int slab) { return slab * L::slab + warp * 16 + lane % 2 * 8 + lane / 4; });
  const scale_rows<(blocks + 3) / 4, Count> of_b(scales_b.address, lane % 4 / 2 != 0, [&](int group) {
    const int block = group * 4 + lane % 4;
    return (block < blocks ? block : blocks - 1) * 8 + lane / 4;
  });
  const operand_blocks<shared_slice<TileA, M, K>, true> a_blocks(a, lane, warp);
  mma_steps<0>(
      acc,
      [&](int k, u32(*words)[4]) {
#pragma unroll
        for (int slab = 0; slab < slabs; ++slab)
          a_blocks.load(slab * warps, k, words[slab]);
      },
      b,
      [&](float *d, const u32 *a_words, const u32 *b_words, int slab, int block, int k) {
        mma_16x8_scaled<TA, TB, Scale>(d, a_words, b_words, of_a.at(slab, k * instruction::each, 0),
                                       of_b.at(block / 4, k * instruction::each, block % 4));
      });
}

} // namespace tk
