// Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products of data-centre Blackwell: d (+)= a · b, accumulated in tensor memory, issued by one thread.
//
// Products of one thread are done in order. Others learn of their end by `tensor_commit`: an arrival at an mbarrier
// when all of this thread's products so far are done, after which they `tensor_fence_after_sync`. Operands written by
// threads need `fence_proxy_async`. PTX ISA, "tcgen05.mma", "tcgen05.commit", "Instruction descriptor".
#pragma once

#include "tk/barrier.h"
#include "tk/descriptor.h"
#include "tk/padded.h"
#include "tk/tensor_memory.h"

namespace tk {

namespace tcgen05_text {

/// The instruction's kind by the operands' type, and what its descriptor calls the type.
template <class T> struct operand {
  static constexpr char kind[] = "f8f6f4";
  static constexpr u32 format = same<T, f8e4m3> ? 0 : same<T, f6e2m3_padded> ? 3 : same<T, f6e3m2_padded> ? 4 : 1;
};
template <class T>
  requires is_float16<T>
struct operand<T> {
  static constexpr char kind[] = "f16";
  static constexpr u32 format = same<T, half> ? 0 : 1;
};
template <> struct operand<tf32> {
  static constexpr char kind[] = "tf32";
  static constexpr u32 format = 2;
};
template <class T>
  requires(same<T, i8> || same<T, u8>)
struct operand<T> {
  static constexpr char kind[] = "i8";
  static constexpr u32 format = same<T, u8> ? 0 : 1;
};

} // namespace tcgen05_text

template <class TA, class TB> __device__ constexpr bool multiplies() {
  return (is_float8<TA> && is_float8<TB>) || ((same<TA, i8> || same<TA, u8>) && (same<TB, i8> || same<TB, u8>)) ||
         (same<TA, TB> && (is_float16<TA> || same<TA, tf32>));
}

/// The instruction descriptor: types, orders and shape, M of all blocks that take part.
template <class D, class TA, class TB>
__host__ __device__ constexpr u32 tensor_instruction(major a, major b, int m, int n) {
  return (same<D, int> ? 2u : 1u) << 4 | tcgen05_text::operand<TA>::format << 7 |
         tcgen05_text::operand<TB>::format << 10 | u32(a == major::mn) << 15 | u32(b == major::mn) << 16 |
         u32(n / 8) << 17 | u32(m / 16) << 24;
}

/// One instruction. A: a descriptor, or the address in tensor memory.
template <int Blocks, class T, class A>
__device__ __forceinline__ void tensor_mma_instruction(u32 d, A a, u64 b, u32 instruction, bool accumulate) {
  if constexpr (same<A, u64>)
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %4, 0;\n"
                 "tcgen05.mma.cta_group::%5.kind::%6 [%0], %1, %2, %3, accumulate;\n}\n" ::"r"(d),
                 "l"(a), "l"(b), "r"(instruction), "r"(int(accumulate)), "n"(Blocks),
                 "C"(tcgen05_text::operand<T>::kind)
                 : "memory");
  else
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %4, 0;\n"
                 "tcgen05.mma.cta_group::%5.kind::%6 [%0], [%1], %2, %3, accumulate;\n}\n" ::"r"(d),
                 "r"(a), "l"(b), "r"(instruction), "r"(int(accumulate)), "n"(Blocks),
                 "C"(tcgen05_text::operand<T>::kind)
                 : "memory");
}

/// A left operand: where step k of a slab of M rows is, M those of one block.
template <class A> struct left_operand;
template <class Tile, int Rows, int K, bool Transposed> struct left_operand<shared_slice<Tile, Rows, K, Transposed>> {
  static constexpr major order = Transposed ? major::mn : major::k;
  template <int M>
  __device__ __forceinline__ static u64 at(const shared_slice<Tile, Rows, K, Transposed> &a, int slab, int k) {
    return descriptor_at(tensor_descriptor<Tile>(a.address, order), descriptor_step<Tile>(order, slab * M, k));
  }
};
template <class T, int Rows, int K, int Slab> struct left_operand<tensor_tile<T, Rows, K, Slab>> {
  static constexpr major order = major::k;
  template <int M> __device__ __forceinline__ static u32 at(const tensor_tile<T, Rows, K, Slab> &a, int slab, int k) {
    static_assert(M == Slab, "operand and accumulator lie in the same lanes");
    return a.address + u32(slab * tensor_tile<T, Rows, K, Slab>::slab_width + k * int(sizeof(T)) / 4);
  }
};

template <int Blocks, class D, int M, int N, int Slab, class A, class B>
__device__ __forceinline__ void tensor_mma_steps(const tensor_tile<D, M, N, Slab> &d, const A &a, const B &b,
                                                 bool accumulate) {
  using TA = typename A::element;
  using TB = typename B::element;
  using tile_b = typename B::tile_type;
  constexpr major order_a = left_operand<A>::order, order_b = B::transposed ? major::k : major::mn;
  constexpr int k_step = 32 / sizeof(TB);
  static_assert(multiplies<TA, TB>(), "no instruction for these types");
  static_assert(same<D, int> == (same<TA, i8> || same<TA, u8>), "i8 products accumulate in i32, others in f32");
  static_assert(A::rows == M && A::cols == B::rows && B::cols * Blocks == N, "shapes of a product");
  static_assert(N % (16 * Blocks) == 0 && N <= 256, "no instruction of this width");
  static_assert(B::rows % k_step == 0, "k is a multiple of 32 bytes");
  static_assert((order_a == major::k && order_b == major::k) || !same<TA, tf32>, "tf32 operands are K-major");
  constexpr u32 instruction = tensor_instruction<D, TA, TB>(order_a, order_b, Slab * Blocks, N);
  const u64 descriptor_b = tensor_descriptor<tile_b>(b.address, order_b);
#pragma unroll
  for (int slab = 0; slab < M / Slab; ++slab)
#pragma unroll
    for (int k = 0; k < B::rows; k += k_step)
      tensor_mma_instruction<Blocks, TA>(d.address + slab * N, left_operand<A>::template at<Slab>(a, slab, k),
                                         descriptor_at(descriptor_b, descriptor_step<tile_b>(order_b, 0, k)),
                                         instruction, accumulate || k > 0);
}

/// d[M, N] (+)= a[M, K] · b[K, N] by one thread, asynchronously; `accumulate` false: d = a · b. a in shared memory (a
/// slice or a transposed one) or in tensor memory, b in shared memory. M a multiple of d's slabs, N of 16 up to 256, K
/// of 32 bytes. Types: bf16, f16, tf32, any two of float8; i8 and u8 on sm_100a only. tf32 operands have k contiguous.
template <class D, int M, int N, int Slab, class A, class B>
__device__ __forceinline__ void tensor_mma(const tensor_tile<D, M, N, Slab> &d, const A &a, const B &b,
                                           bool accumulate = true) {
  tensor_mma_steps<1>(d, a, b, accumulate);
}

/// The same by a pair of blocks for d[256, N], issued by the block of even rank for both. Each block has its 128 rows
/// of d and a and its half of b's columns, at the same addresses.
template <class D, int N, class A, class B>
__device__ __forceinline__ void pair_mma(const tensor_tile<D, 128, N> &d, const A &a, const B &b,
                                         bool accumulate = true) {
  tensor_mma_steps<2>(d, a, b, accumulate);
}

/// One arrival when all products and copies that this thread issued so far are done.
__device__ __forceinline__ void tensor_commit(const barrier &to) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(to.address())
               : "memory");
}
/// The same at the barrier at the same place of each block of the cluster in `mask`.
__device__ __forceinline__ void tensor_commit_all(const barrier &to, u16 mask) {
  asm volatile(
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
          to.address()),
      "h"(mask)
      : "memory");
}
/// The same for a pair, at the barrier at the same place of each block of the cluster in `mask`.
__device__ __forceinline__ void pair_commit(const barrier &to, u16 mask = 3) {
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
          to.address()),
      "h"(mask)
      : "memory");
}

} // namespace tk
