// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products by warps: mma.sync on fragments in warp_mma_layout, operands from shared memory or, A of 16-bit
// types, from registers. While one step of k is multiplied, the operands of the next are loaded. PTX ISA, "mma".
#pragma once

#include "tk/fragment.h"
#include "tk/ldmatrix.h"

namespace tk {

/// d[16, 8] += a[16, 32 bytes] · b[32 bytes, 8].
template <class TA, class TB> __device__ __forceinline__ void mma_16x8(float *d, const u32 *a, const u32 *b) {
  if constexpr (same<TA, bf16>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else if constexpr (same<TA, half>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else if constexpr (same<TA, tf32>)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else if constexpr (same<TA, f8e4m3> && same<TB, f8e4m3>)
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else if constexpr (same<TA, f8e4m3>)
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else if constexpr (same<TB, f8e4m3>)
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <class TA, class TB> __device__ __forceinline__ void mma_16x8(int *d, const u32 *a, const u32 *b) {
  if constexpr (same<TA, i8>)
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// acc += a · b: `load_a(k, words)` gives the four words of each slab at step k. B comes in groups of 16-column
/// pairs. `multiply` is the instruction for 8 columns of a slab. In a loop over `AtATime` steps of k, or, where that is
/// 0, all unrolled.
template <int AtATime, class Acc, class LoadA, class B, class Multiply>
__device__ __forceinline__ void mma_steps(Acc &acc, LoadA load_a, const B &b, Multiply multiply) {
  using TB = typename B::element;
  constexpr int slabs = Acc::rows / Acc::layout::slab, pairs = (Acc::cols + 15) / 16;
  constexpr int wanted = slabs > 1 ? 2 : 4; // eight products or more while the next group is loaded
  constexpr int group = pairs < wanted ? pairs : wanted, groups = (pairs + group - 1) / group;
  constexpr int k_step = 32 / int(sizeof(TB)), k_steps = B::rows / k_step;
  constexpr bool loops = AtATime != 0 && k_steps % (AtATime + (AtATime == 0)) == 0 && k_steps > AtATime;
  constexpr int unrolled = loops ? AtATime : k_steps, steps = unrolled * groups;
  static_assert(B::rows % k_step == 0, "k is a multiple of 32 bytes");
  const operand_blocks<B, false> b_blocks(b, threadIdx.x % 32);
  u32 a_words[2][slabs][4], b_words[2][group][4];
  const auto load = [&](int k_begin, int step) {
    const int k = step / groups, first = step % groups * group;
    if (first == 0)
      load_a(k_begin + k, a_words[k % 2]);
#pragma unroll
    for (int n = 0; n < group; ++n)
      if (first + n < pairs)
        b_blocks.load(first + n, k_begin + k, b_words[step % 2][n]);
  };
  load(0, 0);
#pragma unroll 1
  for (int k_begin = 0; k_begin < k_steps; k_begin += unrolled)
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int k = step / groups, first = step % groups * group * 2;
      if (step + 1 < steps || (loops && k_begin + unrolled < k_steps))
        load(k_begin, step + 1);
#pragma unroll
      for (int n = 0; n < group * 2; ++n)
#pragma unroll
        for (int slab = 0; slab < slabs; ++slab)
          if (first + n < Acc::cols / 8)
            multiply(acc.data.values + (slab * (Acc::cols / 8) + first + n) * 4, a_words[k % 2][slab],
                     b_words[step % 2][n / 2] + n % 2 * 2, slab, first + n, k_begin + k);
    }
}

template <class TA, int AtATime, class Acc, class LoadA, class B>
__device__ __forceinline__ void mma_steps(Acc &acc, LoadA load_a, const B &b) {
  mma_steps<AtATime>(acc, load_a, b, [](auto *d, const u32 *a_words, const u32 *b_words, int, int, int) {
    mma_16x8<TA, typename B::element>(d, a_words, b_words);
  });
}

template <class Acc> __device__ constexpr void check_accumulator() {
  static_assert(same<typename Acc::element, float> || same<typename Acc::element, int>);
  static_assert(Acc::rows % Acc::layout::slab == 0 && Acc::cols % 8 == 0, "no instruction of this shape");
}

/// acc[M, N] += a[M, K] · b[K, N], both in shared memory (slices or transposed slices); `accumulate` false: acc = a ·
/// b. Shapes: M a multiple of the layout's slab, N of 8, K of 32 bytes. Only bf16 and f16 operands may lie with another
/// axis than k contiguous (a transposed, b not). The writers of a and b have synchronised. `AtATime`: so many steps of
/// k (an even number) in a loop, so that no more operands are loaded ahead than registers are left; 0: all unrolled.
template <int AtATime = 0, class Acc, class TileA, int M, int K, bool Transposed, class B>
__device__ __forceinline__ void mma(Acc &acc, const shared_slice<TileA, M, K, Transposed> &a, const B &b,
                                    bool accumulate = true) {
  using A = shared_slice<TileA, M, K, Transposed>;
  using L = typename Acc::layout;
  check_accumulator<Acc>();
  static_assert(M == Acc::rows && B::cols == Acc::cols && K == B::rows, "shapes of a product");
  if (!accumulate)
    acc = zeros<Acc>();
  constexpr int warps = L::threads / 32;
  const operand_blocks<A, true> blocks(a, threadIdx.x % 32, threadIdx.x / 32 % warps);
  mma_steps<typename A::element, AtATime>(
      acc,
      [&](int k, u32(*words)[4]) {
#pragma unroll
        for (int slab = 0; slab < M / L::slab; ++slab)
          blocks.load(slab * warps, k, words[slab]);
      },
      b);
}

/// The same with a in registers. Its type is a 16-bit one: the accumulator's layout is then the operand's.
template <class Acc, class T, int M, int K, class L, class B>
__device__ __forceinline__ void mma(Acc &acc, const fragment<T, M, K, L> &a, const B &b, bool accumulate = true) {
  check_accumulator<Acc>();
  static_assert(is_float16<T> && same<L, typename Acc::layout>, "only 16-bit operands go through registers");
  static_assert(M == Acc::rows && B::cols == Acc::cols && K == B::rows, "shapes of a product");
  if (!accumulate)
    acc = zeros<Acc>();
  mma_steps<T, 0>(
      acc,
      [&](int k, u32(*words)[4]) {
#pragma unroll
        for (int slab = 0; slab < M / L::slab; ++slab)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            words[slab][i] = a.data.words[slab * K / 4 + k * 4 + i];
      },
      b);
}

} // namespace tk
