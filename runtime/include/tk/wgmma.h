// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products on the matrix engine: acc (+)= a · b, asynchronously, by one warpgroup.
//
// The order of a product: `mma_fence(acc)`, one or more `mma_async`, `mma_commit()`, and `mma_wait<n>(acc)` before acc
// (or an A operand in registers) is touched. n groups may stay in flight, the latest ones.
#pragma once

#include "tk/descriptor.h"
#include "tk/fragment.h"
#include "tk/pin.h"
#include "tk/shared.h"
#include "tk/wgmma_instruction.h"

namespace tk {

/// Orders earlier accesses to the registers of `x` (accumulators, A operands) before the products that follow.
template <tile... X> __device__ __forceinline__ void mma_fence(X &...x) {
  (pin(x), ...);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// Closes the group of the products issued since the last commit.
__device__ __forceinline__ void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// Waits until at most InFlight groups are unfinished. Name the tiles that may be touched afterwards.
template <int InFlight, tile... X> __device__ __forceinline__ void mma_wait(X &...x) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(InFlight) : "memory");
  (pin(x), ...);
}

/// One instruction: the first columns of a 64-row slab of acc. A: a descriptor, or four registers.
template <class TA, class TB, bool MajorA, bool MajorB, int Slab, int Columns, class Acc, class A>
__device__ __forceinline__ void mma_instruction(Acc &acc, const A &a, u64 b, bool accumulate) {
  constexpr int count = Columns / 2, first = Slab * (Acc::cols / 2);
  constexpr bool is_integer = same<typename Acc::element, int>;
  using flags = wgmma_text::flags<is_float16<TA>, is_integer, same<A, u64>, MajorA, MajorB>;
  typename Acc::element r[128];
#pragma unroll
  for (int i = 0; i < count; ++i)
    r[i] = acc.data.values[first + i];
  // Registers that the instruction does not have. Left undefined, the compiler may join them with accumulators in use
  // and copies those while they are in flight (C7519).
#pragma unroll
  for (int i = count; i < 128; ++i)
    r[i] = 0;
  if constexpr (same<A, u64>)
    wgmma_instruction<Columns, wgmma_text::types<TA, TB>, flags>(r, a, b, accumulate);
  else
    wgmma_instruction<Columns, wgmma_text::types<TA, TB>, flags>(r, a.words, b, accumulate);
#pragma unroll
  for (int i = 0; i < count; ++i)
    acc.data.values[first + i] = r[i];
}

template <class B> inline constexpr major major_of_b = B::transposed ? major::k : major::mn;
template <class A> inline constexpr major major_of_a = A::transposed ? major::mn : major::k;

template <class TA, class TB, class Acc> __device__ constexpr void check_product() {
  static_assert(Acc::rows % 64 == 0 && Acc::cols % 8 == 0 && Acc::cols <= 256, "no instruction of this shape");
  static_assert(same<typename Acc::layout, mma_layout>, "the accumulator is in mma_layout");
  static_assert(same<typename Acc::element, int> == (same<TA, i8> || same<TA, u8>), "i8 products accumulate in i32");
}

template <int Slab, int Columns, class TA, bool MajorA, class A, class Acc, class B>
__device__ __forceinline__ void mma_slab(Acc &acc, const A &a_of, const B &b, bool accumulate) {
  using TB = typename B::element;
  constexpr int k_step = 32 / sizeof(TB);
  constexpr major order = major_of_b<B>;
  static_assert(order == major::k || is_float16<TB>, "only 16-bit operands may be MN-major");
  static_assert(B::rows % k_step == 0, "k is a multiple of 32 bytes");
  const u64 descriptor = matrix_descriptor<typename B::tile_type>(b.address, order);
#pragma unroll
  for (int k = 0; k < B::rows; k += k_step)
    mma_instruction<TA, TB, MajorA, order == major::mn, Slab, Columns>(
        acc, a_of(k), descriptor + u64(descriptor_step<typename B::tile_type>(order, 0, k) >> 4), accumulate || k > 0);
}

/// acc[M, N] += a[M, K] · b[K, N], both in shared memory (slices or transposed slices).
/// Shapes: M a multiple of 64, N of 8 up to 256, K of 32 bytes. `accumulate` false: acc = a · b.
/// MN-major operands (a transposed, b not) only of bf16 and f16. With `Columns` that many columns, a multiple of 8, and
/// not all N.
template <int Columns = 0, class Acc, class TileA, int M, int K, bool Transposed, class B>
__device__ __forceinline__ void mma_async(Acc &acc, const shared_slice<TileA, M, K, Transposed> &a, const B &b,
                                          bool accumulate = true) {
  using A = shared_slice<TileA, M, K, Transposed>;
  using T = typename A::element;
  check_product<T, typename B::element, Acc>();
  static_assert(M == Acc::rows && B::cols == Acc::cols && K == B::rows, "shapes of a product");
  constexpr major order = major_of_a<A>;
  static_assert(order == major::k || is_float16<T>, "only 16-bit operands may be MN-major");
  const u64 descriptor = matrix_descriptor<TileA>(a.address, order);
  const auto slab = [&]<int Slab>() {
    mma_slab<Slab, Columns ? Columns : Acc::cols, T, order == major::mn>(
        acc, [&](int k) { return descriptor + u64(descriptor_step<TileA>(order, Slab * 64, k) >> 4); }, b, accumulate);
  };
  slab.template operator()<0>();
  if constexpr (M > 64)
    slab.template operator()<1>();
  static_assert(M <= 128, "a warpgroup holds at most two slabs");
}

/// The layout of a left operand in registers.
template <class T> struct operand_layout_of {
  using type = operand_layout<sizeof(T)>;
};
template <class T>
  requires(sizeof(T) == 2)
struct operand_layout_of<T> {
  using type = mma_layout;
};

/// The same with a in registers.
template <int Columns = 0, class Acc, class T, int M, int K, class L, class B>
__device__ __forceinline__ void mma_async(Acc &acc, const fragment<T, M, K, L> &a, const B &b, bool accumulate = true) {
  check_product<T, typename B::element, Acc>();
  static_assert(same<L, typename operand_layout_of<T>::type>, "take it through as_operand");
  static_assert(M == Acc::rows && B::cols == Acc::cols && K == B::rows, "shapes of a product");
  struct operand {
    u32 words[4];
  };
  const auto word = [&](int i) {
    if constexpr (decltype(a.data)::packed)
      return a.data.words[i];
    else
      return a.data.values[i].bits;
  };
  const auto slab = [&]<int Slab>() {
    constexpr int slab_words = 64 * K / 128 * int(sizeof(T)) / 4;
    mma_slab<Slab, Columns ? Columns : Acc::cols, T, false>(
        acc,
        [&](int k) {
          const int first = Slab * slab_words + k * int(sizeof(T)) / 8;
          return operand{{word(first), word(first + 1), word(first + 2), word(first + 3)}};
        },
        b, accumulate);
  };
  slab.template operator()<0>();
  if constexpr (M > 64)
    slab.template operator()<1>();
  static_assert(M <= 128, "a warpgroup holds at most two slabs");
}

} // namespace tk
